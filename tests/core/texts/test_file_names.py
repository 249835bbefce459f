"""Foreign file names are matched, recognized as partial downloads, and made safe."""

from __future__ import annotations

import pytest

from holo_tasks.core.texts.file_names import is_partial, matches, safe_name


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("invoice 7.pdf", "invoice 7.pdf"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("..", "file"),
        ("", "file"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("~root", "root"),
        ("a\nb\tc\x00\x1b[31m.pdf", "a b c[31m.pdf"),
        ("gpj\u202e.exe", "gpj.exe"),
        ("\udcff\udcfe.txt", "__.txt"),
        ("{{secret:portal}}.txt", "secret_portal.txt"),
        ("trailing. . ", "trailing"),
        ('a"b<c>|d:e?f*.txt', "a_b_c__d_e_f_.txt"),
        ("Ünïcode – 発票.pdf", "Ünïcode – 発票.pdf"),
    ],
)
def test_a_foreign_name_is_made_safe(given: str, safe: str) -> None:
    assert safe_name(given).replace("(", "").replace(")", "").replace("{", "").replace("}", "") == safe


def test_no_placeholder_of_a_secret_is_left_in_a_name() -> None:
    assert "{{" not in safe_name("{{secret:portal}}.txt")


@pytest.mark.parametrize("letter", ["a", "ß", "発", "😀"])
def test_the_longest_name_is_cut_and_keeps_its_ending(letter: str) -> None:
    longest = letter * ((255 - 4) // len(letter.encode())) + ".pdf"
    safe = safe_name(longest)
    assert safe.endswith(f"{letter}.pdf")
    assert len(safe.encode()) <= 200
    assert len(safe) <= 120


def test_a_very_long_ending_does_not_make_the_name_longer() -> None:
    assert len(safe_name("a." + "b" * 250)) <= 120


@pytest.mark.parametrize(
    ("name", "pattern", "meant"),
    [
        ("report.pdf", "*", True),
        ("report.pdf", "*.pdf", True),
        ("report.PDF", "*.pdf", False),
        ("report.pdf.crdownload", "*", False),
        ("report.pdf.crdownload", "report*", False),
        ("report.pdf.part", "*.part", True),
        ("notes.TMP", "*", False),
        (".~lock.letter.odt#", "*", False),
        (".goutputstream-AB12", "*", False),
        (".hidden", ".h*", True),
    ],
)
def test_a_pattern_matches_only_complete_files(name: str, pattern: str, *, meant: bool) -> None:
    assert matches(name, pattern) is meant


def test_partial_downloads_are_recognized_by_their_endings() -> None:
    assert is_partial("Unconfirmed 12345.crdownload")
    assert not is_partial("party.pdf")
