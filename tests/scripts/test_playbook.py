"""Reading a playbook: a mistake is reported with its file, line and place."""

from __future__ import annotations

from pathlib import Path

import pytest

from holo_tasks.scripts.playbook import BadPlaybook, load_playbook, parse_playbook

GOOD = """\
name: demo
shared:
  popups:
    - id: close
      screen: TIP
      do:
        - click: Close
          thought: Closing it.
goals:
  search:
    when: look for (?P<what>\\w+)
    rules:
      - include: popups
      - id: search
        screen: [SEARCH, Reference]
        do:
          - click: {field: Reference}
            thought: Going there.
          - write: {text: "{what}", overwrite: true}
            thought: Writing it.
"""


def test_shared_rules_are_inserted_at_their_place() -> None:
    playbook = parse_playbook(GOOD)
    assert [rule.id for rule in playbook.rules_of("search")] == ["close", "search"]
    assert playbook.rules_of("search")[0].screen == ("TIP",)


def test_the_demos_playbook_is_valid() -> None:
    flows = Path(__file__).parents[2] / "flows"
    assert set(load_playbook(flows / "expense_audit.playbook.yaml").goals) == {
        "sign-on",
        "read-record",
        "file-flag",
    }


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("name: demo", "name: [", 3, "not YAML"),
        ("name: demo", "name: demo\nname: again", 2, "appears twice"),
        ("name: demo", "nome: demo", 1, "nome"),
        ("thought: Writing it.", "thoughts: Writing it.", 20, "thoughts"),
        ("thought: Writing it.", "element: that", 19, "thought"),
        ("thought: Writing it.", "thought: Going there.", 1, "appears twice"),
        ("- id: search", "- id: close", 1, "appears twice"),
        ("- click: Close", "- press: Close", 7, "press"),
        ("{field: Reference}", "{field: Reference, text: Search}", 17, "one of text:, field: and picture:"),
        ("{field: Reference}", "{field: Reference}\n            wait: 1.0", 17, "exactly one of"),
        ("(?P<what>", "(?P<what", 11, "not a regular expression"),
        ("include: popups", "include: popups2", 1, "not under shared:"),
        ("screen: TIP", "after: nobody", 1, "'nobody'"),
        ("do:\n        - click: Close\n          thought: Closing it.", "do: []", 6, "at least 1"),
    ],
)
def test_a_mistake_is_located(old: str, new: str, line: int, says: str) -> None:
    assert old in GOOD
    with pytest.raises(BadPlaybook) as caught:
        parse_playbook(GOOD.replace(old, new, 1), "demo.yaml")
    message = str(caught.value)
    assert message.startswith(f"demo.yaml:{line}: "), message
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("given", "probe", "says"),
    [
        ("what", "nobody", "'nobody', which is not another goal"),
        ("what", "save", "'save', which is not another goal"),
        ("other", "look", "its probe look needs what, which save is not given"),
    ],
)
def test_a_probe_must_be_another_goal_with_the_same_parameters(given: str, probe: str, says: str) -> None:
    text = f"""
name: probed
goals:
  save: {{params: {{{given}: text}}, probe: {probe}, rules: [{{id: save, do: [{{answer: "4", thought: Saved.}}]}}]}}
  look: {{params: {{what: text}}, rules: [{{id: look, do: [{{answer: done, thought: There.}}]}}]}}
"""
    with pytest.raises(BadPlaybook) as caught:
        parse_playbook(text)
    assert says in str(caught.value)
    assert parse_playbook(text.replace(f"{given}: text}}, probe: {probe}", "what: text}, probe: look"))


def test_a_missing_file_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadPlaybook, match="cannot read the playbook"):
        load_playbook(tmp_path / "none.yaml")


@pytest.mark.parametrize("text", ["", "- a", "just text", "goals: 3", "name: x\ngoals: {}"])
def test_an_invalid_playbook_is_refused(text: str) -> None:
    with pytest.raises(BadPlaybook):
        parse_playbook(text)
