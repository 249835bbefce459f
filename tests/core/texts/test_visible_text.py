"""Invisible characters are escaped."""

from __future__ import annotations

import subprocess

import pytest

from holo_tasks.core.texts.visible_text import exact, shell_word


@pytest.mark.parametrize("text", ["I-1", "a b", "it's", "", "$HOME `x`", "é 東京", "-n"])
def test_visible_text_stays_unchanged(text: str) -> None:
    assert exact(text) == text


@pytest.mark.parametrize("text", ["I-1\nforged", "\x1b[2J", "a\u202eb'\\", "\x9b\t", "\u200b", "\U000e0041"])
def test_invisible_characters_are_escaped(text: str) -> None:
    assert exact(text) == repr(text)
    assert exact(text).isprintable()
    assert shell_word(text).isprintable()


@pytest.mark.parametrize("text", ["I-1", "it's $HOME", "", "a\nb", "\x1b[2J'\\n\\", "\u202ea\u200b", "\U000e0041\x9b1"])
def test_a_shell_reads_the_original_text(text: str) -> None:
    command = ["bash", "-c", f"printf %s {shell_word(text)}"]
    read = subprocess.run(command, capture_output=True, check=True, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"})
    assert read.stdout.decode() == text
