"""A playbook for a changed program: the model does one step, which a person reviews and applies to the file."""

from __future__ import annotations

import io
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from holo_tasks.desktop import tk_python
from holo_tasks.vision.ocr_reader import Reader
from tests.support.command_line import CommandLine
from tests.support.scripted_model import ScriptedModel, step

APPS = Path(__file__).parent.parent / "apps"
GIVEN = ("--set", "order=EF-5050", "--set", "note=two boxes of glass")


def presses(text: str) -> ScriptedModel:
    """Return a model that always clicks on a given text."""

    def say(number: int, body: dict[str, Any]) -> dict[str, Any]:
        with Image.open(io.BytesIO(model.images()[-1])) as picture:
            sight = Reader().read(picture.convert("RGB")).sight
        at = sight.find(text)[0].box.center
        place = {"x": at.x * 1000 // sight.size.width, "y": at.y * 1000 // sight.size.height}
        return step("click", element=f"{text} button", **place)

    model = ScriptedModel(say)
    return model


@pytest.mark.desktop
@pytest.mark.slow
def test_a_renamed_button_is_healed_reviewed_and_applied_and_then_needs_no_model(
    cli: CommandLine, tmp_path: Path
) -> None:
    playbook, state = tmp_path / "records.yaml", tmp_path / "state.jsonl"
    shutil.copy(APPS / "records.playbook.yaml", playbook)
    state.touch()
    app = shlex.join([tk_python(), str(APPS / "records_tk.py"), str(state), "--drift", "renamed"])
    asked = ("run", "Put the note on the order.", "--playbook", str(playbook), *GIVEN, "--app", app, "--allow", "act")
    done = {"saved": "EF-5050", "note": "two boxes of glass"}
    with presses("Put on file") as model:
        ended = cli(*asked, "--json", "--base-url", model.base_url)
    assert (ended.code, ended.told["layer"], ended.told["model_calls"], ended.told["healed"]) == (0, "playbook", 1, 1)
    assert [json.loads(line) for line in state.read_text().splitlines()] == [done]
    assert "playbook review" in ended.complaint
    (one,) = json.loads(cli("playbook", "review", str(playbook), "--json").stdout)["proposals"]
    assert (one["old"], one["new"], one["run"]) == ("Save note", "Put on file", ended.told["trace"])
    assert Path(one["pictures"]["new"]).is_file()
    assert cli("playbook", "apply", str(playbook), "--id", one["id"]).code == 0
    again = cli(*asked, "--json", "--playbook-only", "--heal", "off", env={"HAI_API_KEY": None, "HOLO_BASE_URL": None})
    assert (again.code, again.told["model_calls"], again.told["healed"]) == (0, 0, 0), again.complaint
    assert [json.loads(line) for line in state.read_text().splitlines()] == [done, done]
    refused = cli("playbook", "reject", str(playbook), "--json")
    assert (refused.code, json.loads(refused.stdout)) == (2, {"file": None, "proposals": []})
