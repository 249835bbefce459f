"""Rules are loaded from plain values and files, and an error names the first problem in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box
from holo_tasks.safety.policy import Rules


def test_rules_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(
        'trust = "act"\nactions = ["click"]\nprograms = ["/opt/text/editor", "ledger.py"]\n'
        "regions = [[0, 0, 640, 400], {left = 1, top = 2, width = 3, height = 4}]\n"
        'allow_chords = ["Alt+Tab"]\n[[confirm]]\ntext = "submit|send"\nkinds = ["click"]\n'
    )
    rules = Rules.load(file)
    assert rules.regions == (Box(0, 0, 640, 400), Box(1, 2, 3, 4))
    assert rules.confirm[0].words == "text submit|send; kinds click"
    assert Rules.model_validate_json(rules.model_dump_json()) == rules


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"trsut": "act"}, "trsut"),
        ({"trust": "yes"}, "trust"),
        ({"actions": ["clik"]}, "there is no action 'clik'"),
        ({"actions": "click"}, "actions"),
        ({"regions": [[0, 0, 0, 5]]}, "not a part of a screen"),
        ({"regions": [[0, 0, 5]]}, "regions"),
        ({"regions": [[-1, 0, 5, 5]]}, "not a part of a screen"),
        ({"regions": [[0.5, 0, 5, 5]]}, "regions"),
        ({"most_characters": -1}, "most_characters"),
        ({"allow_chords": ["ctrl+nothing"]}, "no key called 'nothing'"),
        ({"denied_chords": ["ctrl++"]}, "called plus"),
        ({"confirm": [{}]}, "needs a text, kinds or programs"),
        ({"confirm": [{"text": "("}]}, "not a regular expression"),
        ({"confirm": [{"kinds": ["submit"]}]}, "there is no action 'submit'"),
        ({"programs": [""]}, "programs"),
        ([], "rules"),
    ],
)
def test_wrong_rules_are_refused_in_one_sentence(values: Any, said: str) -> None:
    with pytest.raises(InvalidUsage) as caught:
        Rules.read(values)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_messages_shorten_foreign_text() -> None:
    for values in ({"x" * 100_000: 1}, {"actions": ["x" * 100_000]}):
        with pytest.raises(InvalidUsage, match="…") as caught:
            Rules.read(values)
        assert len(str(caught.value)) < 1000


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for content in (None, b"trust = ", b"\xff\xfe"):
        file = tmp_path / "rules.toml"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(InvalidUsage, match=r"rules\.toml"):
            Rules.load(file)
