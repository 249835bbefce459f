"""Whatever a real program does with a typed secret, the pictures that leave the machine do not show it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holo_tasks.core.input.gestures import Click, Drag, Hotkey, Write
from holo_tasks.core.screen.frame import LOST, Frame, RedactedFrame
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.run.rules.redactors import redactor_for
from holo_tasks.safety.masking.fuzzy_search import folded_secret, secret_in
from holo_tasks.safety.typed_secrets.typed_fields import TypedFields
from holo_tasks.vision.band_reader import BandReader
from tests.support.long import few

VALUE = "tok_9f3A-7Kq2-canary"
SIZE = Size(1040, 600)


class Watched:
    """A program with a typed secret, as its redacted pictures show it: by pixels alone, and with OCR."""

    def __init__(self, desktop: VirtualDesktop, told: Any) -> None:
        self.desktop = desktop
        self.told = told
        self.blind, self.reading = TypedFields(), TypedFields()
        self._painters = [redactor_for(None, {}, self.blind), redactor_for(None, {"tok": VALUE}, self.reading)]
        self._reader = BandReader()

    def at(self, name: str) -> Point:
        return Point(*self.told.read()[name])

    async def type(self, at: Point) -> None:
        receipt = await self.desktop.do(Write("{{secret:tok}}", at=at))
        assert receipt.typed
        for masker in (self.blind, self.reading):
            masker.typed(receipt.typed)

    async def press(self, *keys: str) -> None:
        await self.desktop.do(Hotkey(keys))

    async def shows(self, *, blind: bool = True, read: bool = False) -> list[RedactedFrame]:
        """Search the value in the current redacted pictures; return them.

        Without ``blind``, pixel-based redaction alone is not expected to find the value. With ``read``, OCR searches
        too.
        """
        frame = await self.desktop.look(after_action=True)
        seen = [await painter.redact(frame) for painter in self._painters]
        assert not red(seen[1].frame)
        assert not (blind and red(seen[0].frame))
        for line in self._reader.lines(seen[1].frame) if read else ():
            assert not list(secret_in(VALUE, folded_secret(line.text))), line.text
        return seen


def red(frame: Frame) -> int:
    """Return the number of pixels with the color that only the value has."""
    reds, greens, blues = np.frombuffer(frame.rgb, np.uint8).reshape(-1, 3).T
    others = np.maximum(greens, blues)
    return int(np.count_nonzero((reds > others) & (reds - others > 40)))


def whole(seen: RedactedFrame) -> bool:
    """Return whether whole windows are masked."""
    return any(mask.kind == LOST for mask in seen.masks)


@asynccontextmanager
async def form(probe: Any, state: Any, until: Any, tmp_path: Path, *arguments: str) -> AsyncIterator[Watched]:
    told = state(tmp_path / "state")
    async with VirtualDesktop(app=probe("secret", told.path, *arguments), secrets={"tok": VALUE}, size=SIZE) as desktop:
        await until(told.path.exists)
        watched = Watched(desktop, told)
        await watched.type(watched.at("field"))
        assert await until(lambda: told.read()["value"] == VALUE)
        yield watched


def xdotool(desktop: VirtualDesktop, *words: object) -> None:
    env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
    subprocess.run(["xdotool", *map(str, words)], env=env, check=True, timeout=60)


@pytest.mark.parametrize("kind", few(["widget", "drawn"]))
async def test_no_part_of_a_value_shows_whatever_happens_to_its_window(
    kind: str, probe: Any, state: Any, until: Callable[..., Any], tmp_path: Path
) -> None:
    async with form(probe, state, until, tmp_path, kind) as seen:
        (typed, _) = await seen.shows(read=True)
        assert red(await seen.desktop.look()), "the unredacted picture shows the value in red"
        await seen.desktop.do(Click(seen.at("notes")))
        (next_field, read) = await seen.shows()
        assert next_field.masks == read.masks == typed.masks, "normally only the field is masked"
        assert len(typed.masks) == 1
        (window,) = await seen.desktop.windows()
        title = Point(window.box.left + 300, window.box.top - 12)
        await seen.desktop.do(Drag(title, Point(title.x + 60, title.y + 70)))
        (moved, _) = await seen.shows()
        (was, now) = typed.masks[0].box, moved.masks[0].box
        assert (now.left - was.left, now.top - was.top, now.width) == (60, 70, was.width)
        for key in ("F2", "F4", "F3", "F9", "F12", "F5", "F12", "F6", "F12"):
            await seen.press(key)
            # the greeting uses larger letters
            shown = await seen.shows(blind=key != "F6", read=key in ("F3", "F4", "F6"))
            if key in ("F2", "F4", "F12"):
                assert not any(map(whole, shown)), "found again"
        xdotool(seen.desktop, "windowsize", "--sync", window.id, 560, 380)
        await seen.shows()
        await seen.press("F8")
        (cleared, _) = await seen.shows()
        assert not cleared.masks
        await seen.press("ctrl", "z")
        await seen.shows()


async def test_a_password_that_its_program_reveals_stays_masked_when_its_window_moves(
    probe: Any, state: Any, until: Callable[..., Any], tmp_path: Path
) -> None:
    async with form(probe, state, until, tmp_path, "drawn", "*") as seen:
        (dots, _) = await seen.shows()
        await seen.press("F9")
        assert not any(each.masks for each in await seen.shows()), "dots elsewhere would only reveal the length"
        await seen.press("F12")
        assert (await seen.shows())[0].masks == dots.masks
        await seen.press("F7")
        assert (await seen.shows())[0].masks == dots.masks
        await seen.desktop.do(Click(seen.at("notes")))
        await seen.shows()
        (window,) = await seen.desktop.windows()
        xdotool(seen.desktop, "windowmove", "--sync", window.id, 300, 200)
        await seen.press("F2")
        (blind, _) = await seen.shows()
        assert not whole(blind)


async def test_a_lost_field_masks_its_program_until_the_window_closes_or_ocr_finds_no_value(
    probe: Any, state: Any, until: Callable[..., Any], tmp_path: Path
) -> None:
    async with form(probe, state, until, tmp_path, "drawn") as seen:
        await seen.shows()
        await seen.press("F9")
        (blind, reading) = await seen.shows()
        assert whole(blind)
        assert not reading.masks, "OCR found no value"
        await seen.press("F12")
        assert not any(map(whole, await seen.shows()))
        await seen.press("F9")
        (window,) = await seen.desktop.windows()
        xdotool(seen.desktop, "windowclose", window.id)
        (blind, _) = await seen.shows()
        assert not blind.masks


FIELD, NOTES = Point(250, 100), Point(250, 140)
PAGE = """<!doctype html><meta charset=utf-8><title>Secret</title>
<body style="font-family:sans-serif;margin:16px;height:2000px"><h2>Access</h2>
<style>input { position:absolute; left:100px; width:320px }</style>
<p>Token: <input id=tok style="top:70px;color:#c00000" spellcheck=false autocomplete=off>
<p>Notes: <input id=notes style="top:110px"> <p>The token is in your welcome letter.
<div id=head style="display:none;position:fixed;left:0;top:0;right:0;background:#fff;height:20px">Fixed</div>
<script>
const does = {
  F2: () => scrollBy(0, 30),
  F4: () => { document.body.style.background = '#202020'; document.body.style.color = '#eee';
              tok.style.background = '#202020'; tok.style.color = '#ff7070'; },
  F6: () => { head.style.display = 'block'; head.style.height = tok.getBoundingClientRect().top + 11 + 'px'; },
  F8: () => { document.body.innerHTML = '<h2>Welcome</h2><p>There are three new entries in the ledger.'; },
};
window.name = +window.name + 1;
onload = () => requestAnimationFrame(() => requestAnimationFrame(() => document.title = 'Load ' + window.name));
onkeydown = event => { if (does[event.key]) { does[event.key](); event.preventDefault(); } };
</script>"""


async def test_a_browser_that_scrolls_zooms_and_navigates_does_not_show_a_value(
    until: Callable[..., Any], x_client: Callable[..., str], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text(PAGE)
    flags = "no-sandbox test-type disable-gpu no-first-run window-position=0,0 window-size=760,500"
    command = ["chromium", *(f"--{flag}" for flag in flags.split()), f"--user-data-dir={tmp_path}"]
    command.append(f"--app={page.as_uri()}")
    async with VirtualDesktop(
        app=command, env={"HOME": str(tmp_path)}, app_timeout_s=60, secrets={"tok": VALUE}, size=SIZE
    ) as desktop:
        seen = Watched(desktop, None)
        # Text typed before the page has loaded is lost.
        assert await until(lambda: "Load 1" in x_client(desktop, "xwininfo", "-root", "-tree"))
        await seen.type(FIELD)
        (typed, _) = await seen.shows()
        assert red(await desktop.look())
        await desktop.do(Click(NOTES))
        assert (await seen.shows())[0].masks == typed.masks
        for keys in (("F2",), ("F4",), ("F6",)):
            await seen.press(*keys)
            assert not any(map(whole, await seen.shows())), f"after {keys} it is found"
        await seen.press("ctrl", "r")
        assert await until(lambda: "Load 2" in x_client(desktop, "xwininfo", "-root", "-tree"))
        await desktop.do(Click(NOTES))
        await seen.shows()
        await seen.type(FIELD)
        for keys in (("ctrl", "plus"), ("ctrl", "minus"), ("F8",)):
            await seen.press(*keys)
            shown = await seen.shows(read=True)
        assert [whole(each) for each in shown] == [True, False], "OCR finds no value; without OCR the window is masked"
        assert not shown[1].masks
