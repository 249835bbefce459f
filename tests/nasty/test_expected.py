"""The outcomes of the nasty programs that count as failures."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from benchmarks.nasty.expected import EXPECTED, HANDED_OVER, RIGHT, WRONG, failures, table
from benchmarks.nasty.programs.seeds import VARIANTS


@dataclass(frozen=True)
class Came:
    kind: str
    variant: str
    careful: bool
    word: str


def test_every_variant_has_an_expected_outcome_and_harmless_ones_need_no_guards() -> None:
    assert set(EXPECTED) == {(kind, variant) for kind, variants in VARIANTS.items() for variant in variants}
    for kind, variants in VARIANTS.items():
        harmless = EXPECTED[kind, variants[-1]]
        assert (harmless.careful, harmless.careless) == ((RIGHT,), (RIGHT,))


@pytest.mark.parametrize(
    ("kind", "variant", "word", "fails"),
    [
        ("double", "unguarded", RIGHT, False),
        ("double", "unguarded", HANDED_OVER, True),
        ("double", "unguarded", WRONG, True),
        ("puzzle", "gate", HANDED_OVER, False),
        ("puzzle", "gate", RIGHT, True),
        ("puzzle", "open", HANDED_OVER, True),
        ("frozen", "for ever, filed", "ended: limit", True),
        ("spinner", "until Esc, filed", RIGHT, False),
        ("spinner", "until Esc, filed", "said done, is not", True),
    ],
)
def test_a_guarded_run_fails_unless_its_outcome_is_expected(kind: str, variant: str, word: str, fails: bool) -> None:
    came = Came(kind, variant, True, word)
    assert bool(failures([came])) is fails
    assert any("not as expected" in line for line in table([came])) is fails


def test_unguarded_luck_fails_only_if_no_run_of_the_program_did_harm() -> None:
    harmed, lucky = (Came("shift", "when complete", False, word) for word in (WRONG, RIGHT))
    elsewhere = Came("popups", "over the submit button", False, WRONG)
    assert failures([harmed, lucky]) == []
    assert failures([lucky, lucky, elsewhere]) == [
        "shift: no harm without care in any of 2 runs, where it is expected in each."
    ]
    assert (
        failures([Came("deaf", "submit", False, RIGHT), Came("frozen", "for ever, filed", False, "ended: limit")]) == []
    )
    assert "(1 not as expected)" in list(table([harmed, lucky]))[1]
