"""Private text is found by format and checksum, and secrets are found despite OCR errors."""

from __future__ import annotations

import random

import pytest

from holo_tasks.safety.masking.fuzzy_search import folded_secret, name_in, secret_in
from holo_tasks.safety.masking.kinds import FINDERS, find
from holo_tasks.safety.masking.presidio import PresidioDetector
from tests.support import private_screens

ALL = tuple(FINDERS)


def kinds_in(text: str) -> set[str]:
    return {found.kind for found in find(text, ALL) if found.sure}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("write to erika.mustermann@example.com today", "email"),
        ("erika@example,com", "email"),
        ("4111 1111 1111 1111", "card"),
        ("3782-822463-10005", "card"),
        ("2019-09-08 4111-1111-1111-1111 24.01.2016", "card"),
        ("DE89 3704 0044 0532 0130 00", "iban"),
        ("GB82WEST12345698765432", "iban"),
        ("MT84 MALT 0110 0001 2345 MTLC AST0 01S", "iban"),
        ("+49 30 1234 5678", "phone"),
        ("(212) 555-1234", "phone"),
        ("123-45-6789", "us_ssn"),
        ("86 095 742 719", "de_tax_id"),
        ("1 85 05 78 006 084 91", "fr_nir"),
        ("12345678Z", "es_dni"),
        ("X1234567L", "es_dni"),
        ("AB 12 34 56 C", "uk_nino"),
        ("Bookedon86 095 742 719as agreed.", "de_tax_id"),
        ("called+49 30 1234 5678before noon", "phone"),
        ("atAB 12 34 56 Cif", "uk_nino"),
    ],
)
def test_private_text_is_found_with_its_kind(text: str, kind: str) -> None:
    assert kind in kinds_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112",
        "DE89 3704 0044 0532 0132 00",
        "86 095 742 710",
        "12345678A",
        "000-45-6789",
        "version 3.11.7",
        "2024-03-15 16.03.2024",
        "2017-07-05 2028-03-06",
        "192.168.101.20",
        "1.234.567,89 EUR",
        "36 585 094 822 TX-10482",
        "meet @home",
    ],
)
def test_text_that_only_looks_private_is_not_found(text: str) -> None:
    assert kinds_in(text) == set()


@pytest.mark.parametrize("text", ["4lll 11I1 1111 1111", "DE89 37O4 0044 O532 0130 00", "1234567BZ", "86 O95 742 7I9"])
def test_numbers_with_misread_letters_are_found(text: str) -> None:
    assert kinds_in(text)


def test_random_valid_numbers_pass_the_checksums() -> None:
    rng = random.Random(5)
    made = {
        "card": private_screens.card,
        "iban": private_screens.iban,
        "de_tax_id": private_screens.tax_id,
        "fr_nir": private_screens.nir,
        "es_dni": private_screens.dni,
    }
    for kind, make in made.items():
        for _ in range(200):
            text = make(rng)
            assert kind in kinds_in(text), text
            place = rng.choice([n for n, character in enumerate(text[:-1]) if character.isdigit() and n > 1])
            wrong = text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]
            assert kind not in kinds_in(wrong), wrong


@pytest.mark.parametrize(
    "shown",
    [
        "hunter2-Zebra",
        "hunter2-Zebra and more",
        "HUNTER2 - ZEBRA",
        "h u n t e r 2 - Z e b r a",
        "huntcr2-2ebra",
        "hunterZ-Zebra",
        "nter2-Zebr",
        "“hunter2‑Zebra”",
    ],
)
def test_a_secret_is_found_despite_ocr_errors(shown: str) -> None:
    assert list(secret_in("hunter2-Zebra", folded_secret(shown)))


@pytest.mark.parametrize("shown", ["a hunter saw two zebras", "hunting season", "", "12"])
def test_other_words_do_not_match_a_secret(shown: str) -> None:
    assert not list(secret_in("hunter2-Zebra", folded_secret(shown)))


def test_the_range_of_a_secret_is_in_the_original_text() -> None:
    ((start, end),) = set(secret_in("4711", folded_secret("the code: 4 7 l 1.")))
    assert "the code: 4 7 l 1."[start:end] == "4 7 l 1"


@pytest.mark.parametrize("shown", ["Erika Mustermann", "MUSTERMANN, ERIKA", "to Erika  Musterrnann", "María Fernández"])
def test_a_name_is_found_in_either_order_and_case(shown: str) -> None:
    assert any(list(name_in(name, shown)) for name in ("Erika Mustermann", "Maria Fernandez"))


def test_a_name_within_a_word_is_not_found() -> None:
    assert not list(name_in("Eva Post", "Neva Posting"))


def test_presidio_entities_become_kinds() -> None:
    class Result:
        entity_type, start, end, score = "PERSON", 3, 8, 0.85

    class Doubt(Result):
        score = 0.1

    class Analyzer:
        """Replaces `presidio_analyzer.AnalyzerEngine`, whose models take hundreds of megabytes."""

        def analyze(self, text: str, language: str) -> list[type[Result]]:
            assert language == "de"
            return [Result, Doubt]

    (found,) = PresidioDetector(Analyzer(), language="de").find("an Erika geschickt")
    assert (found.kind, found.start, found.end) == ("person", 3, 8)
