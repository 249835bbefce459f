"""Codes by mail: which letter is accepted, and that a code never leaks, even on a desktop without secrets."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks import GaveUp, InvalidUsage, mailed_codes, pursue
from holo_tasks.audit import open_trace
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Size
from holo_tasks.office.letter import Letter
from holo_tasks.vision.ocr_reader import Reader
from tests.support.agents import agent
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

FROM, CODE = "codes@portal.example", "418203"
COLLECTED = datetime.now(UTC)


class Box:
    """A mailbox with given letters."""

    def __init__(self, *letters: Letter) -> None:
        self.held: list[Letter] = list(letters)

    async def letters(self, since: date | None = None) -> list[Letter]:
        return list(self.held)


def letter(text: str, *, sender: str = FROM, late_s: float = 0.0, source: str = "1", wrong: str = "") -> Letter:
    at = datetime.now(UTC) + timedelta(seconds=late_s)
    return Letter(source, "Your code", sender, at, text, (), (wrong,) if wrong else (), source)


@pytest.mark.parametrize(
    ("came", "said"),
    [
        ([letter(f"It is {CODE}.")], CODE),
        ([letter(f"It is {CODE}."), letter(f"Again: {CODE}", source="2")], CODE),
        ([letter(f"It is {CODE}."), letter("It is 990011.", source="2")], "2 different codes"),
        ([letter(f"It is {CODE}, or 990011.")], "No code came"),
        ([letter(f"It is {CODE}.", sender="Codes <codes@portal.example>, x@evil.example")], "No code came"),
        ([letter(f"It is {CODE}.", sender="codes@portal.example.evil.example")], "No code came"),
        ([letter(f"It is {CODE}.", late_s=-3600)], "No code came"),
        ([letter(f"It is {CODE}.", wrong="cut off")], "No code came"),
        ([letter(f"It is 1{CODE}.")], "No code came"),
    ],
)
async def test_only_a_matching_letter_is_accepted(came: list[Letter], said: str) -> None:
    box = Box(letter("It is 111111.", source="before"))
    async with mailed_codes(box, sender=FROM, within_seconds=0.001) as codes:
        late = datetime.now(UTC) - COLLECTED  # the letters were dated at collection, possibly long ago
        box.held += [replace(one, date=one.date + late) for one in came if one.date]
        if said == CODE:
            assert await codes.code() == CODE
        else:
            with pytest.raises(GaveUp, match=said):
                await codes.code()
        with pytest.raises(GaveUp, match="No code came"):  # each letter is used once
            await codes.code()


async def test_the_mailbox_is_not_polled_after_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    naps, nap = list[float](), asyncio.sleep

    async def short(seconds: float) -> None:
        naps.append(seconds)
        await nap(seconds)

    monkeypatch.setattr(asyncio, "sleep", short)
    async with mailed_codes(Box(), sender=FROM, within_seconds=0.2) as codes:
        with pytest.raises(GaveUp, match=r"within 0\.2 seconds"):
            await codes.code()
    assert naps
    assert max(naps) <= 0.2


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"pattern": r"\d{6}"}, "needs one group"),
        ({"sender": "portal"}, "whole address"),
        ({"within_seconds": 0}, "within_seconds= must be above 0"),
    ],
)
async def test_invalid_arguments_are_refused(wrong: dict[str, object], why: str) -> None:
    asked: dict[str, object] = {"sender": FROM, **wrong}
    with pytest.raises(InvalidUsage, match=why):
        async with mailed_codes(Box(), **asked):  # type: ignore[arg-type]
            pass


class Shows(PaintedDesktop):
    """A screen with a code that was not typed here."""

    async def look(self, *, after_action: bool = False) -> Frame:
        size = Size(480, 200)
        image = Image.new("RGB", (size.width, size.height), "white")
        drawing, font = ImageDraw.Draw(image), ImageFont.truetype("DejaVuSans.ttf", 18)
        drawing.text((20, 20), "SECOND STEP", fill="black", font=font)
        drawing.text((20, 90), f"Code sent: {CODE}", fill="black", font=font)
        return Frame(rgb=image.tobytes(), size=size, display=self.display)


async def test_a_code_does_not_leak_on_a_desktop_without_secrets(prefect: str, tmp_path: Path) -> None:
    box = Box()
    replies = [step("answer", content="before"), step("answer", content=f"the code is {CODE}")]
    with ScriptedModel(replies) as model:
        async with agent(model, Shows(), tmp_path) as run:
            assert await pursue("Look.") == "before"
            async with mailed_codes(box, sender=FROM) as codes:
                box.held.append(letter(f"It is {CODE}."))
                code = await codes.code()
            assert code == CODE
            assert CODE not in str(await pursue(f"Say what {code} is."))
        asked = [json.dumps(body) for body in model.requests]
    first, second = (shown(each) for each in frames(run.trace))
    assert any(CODE in line for line in first), "before the letter it was an ordinary number"
    assert "SECOND STEP" in second
    assert not [line for line in second if CODE in line]
    assert CODE not in asked[1]
    told = [record.event.model_dump_json() for record in open_trace(run.trace).records()]
    assert not [text for text in told if CODE in text]


def frames(trace: str) -> list[Path]:
    """Return the pictures of a trace in order."""
    order = [record.event.sha256 for record in open_trace(trace).records() if record.event.kind == "frame"]
    return [next(Path(trace).rglob(f"{sha256}.*")) for sha256 in dict.fromkeys(order)]


def shown(picture: Path) -> list[str]:
    """Return the lines that OCR reads in a picture."""
    return [line.text for line in Reader().read(Image.open(picture).convert("RGB")).sight.lines]
