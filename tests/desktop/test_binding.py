"""A secret is typed only into the window it is bound to, and its field is reported."""

from __future__ import annotations

import asyncio
import os
import subprocess

import pytest

from holo_tasks.core.errors import InvalidUsage, SecretRefused
from holo_tasks.core.input.gestures import Click, Hotkey, Write
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.safety.redaction import paint_masks
from holo_tasks.safety.typed_secrets.typed_fields import TypedFields

VALUE = "Kranich-€9"
TYPE = Write("{{secret:pw}}", overwrite=True)


def secrets() -> dict[str, Secret | str]:
    return {
        "pw": VALUE,
        "other": Secret("other", VALUE, "xterm"),
        "titled": Secret("titled", VALUE, title="Fields"),
        "elsewhere": Secret("elsewhere", VALUE, title="Another title"),
    }


def looks(command: list[str], desktop: VirtualDesktop) -> subprocess.Popen[bytes]:
    """Start a program that does not belong to the desktop."""
    env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
    return subprocess.Popen(command, env=env, start_new_session=True)


async def test_a_secret_is_typed_into_its_own_window_and_no_other(probe, state, until, tmp_path, keymap):
    told = state(tmp_path / "one")
    async with VirtualDesktop(app=probe("fields", told.path), secrets=secrets()) as desktop:
        await until(told.path.exists)
        before = keymap(desktop)
        await desktop.do(Click(told.at("entry")))
        receipt = await desktop.do(TYPE)
        assert await told.becomes("entry", VALUE) == VALUE
        assert keymap(desktop) == before, "no character of the secret stays in the keyboard map"
        assert receipt.events < len(VALUE) * 2, "the receipt must not reveal the length"
        await desktop.do(Write("{{secret:titled}}", overwrite=True))
        for name in ("other", "elsewhere"):
            with pytest.raises(SecretRefused, match=name) as refused:
                await desktop.do(Write(f"{{{{secret:{name}}}}}", overwrite=True))
            assert VALUE not in str(refused.value)
        with pytest.raises(InvalidUsage):
            await desktop.do(Hotkey(("{{secret:pw}}",)))
        assert await told.becomes("entry", VALUE) == VALUE

        # The same program, started by someone else: a pop-up in front of everything.
        popup = state(tmp_path / "popup")
        process = looks(probe("fields", popup.path), desktop)
        try:
            await until(popup.path.exists)
            await desktop.look()
            at = popup.at("entry")
            await desktop.do(Click(at))
            with pytest.raises(SecretRefused, match="typed into windows of the program this desktop was started with"):
                await desktop.do(Write("{{secret:pw}}"))
            with pytest.raises(SecretRefused):
                await desktop.do(Write("{{secret:pw}}", at=at))
            await desktop.do(Write("!"))
            assert await popup.becomes("entry", "!") == "!"
        finally:
            process.kill()
            process.wait()


async def test_the_secrets_field_is_masked_until_it_is_cleared(fields):
    masker = TypedFields()

    async def mask() -> list[Box]:
        return [mask.box for mask in await masker.masks(await fields.desktop.look(after_action=True))]

    for field in ("entry", "themed"):
        left, top = fields.told.read()["at"][field][2:]
        await fields.desktop.do(Click(fields.told.at(field)))
        await fields.desktop.do(Write("", overwrite=True))
        boxes = []
        for text in ("x{{secret:PASSWORD}}", "{{secret:PASSWORD}}{{secret:PASSWORD}}"):
            receipt = await fields.desktop.do(Write(text, overwrite=True))
            masker.typed(receipt.typed)
            boxes += (found := await mask())
            assert found
        # The mask covers the whole field, so its size is independent of the text.
        (box,) = set(boxes)
        assert box.left <= left
        assert box.top <= top
        assert box.width > 500
        assert box.height < 60
        await fields.desktop.do(Click(fields.told.at("text")))
        assert set(await mask()) == {box}, "also without the keyboard"
        await fields.desktop.do(Click(fields.told.at(field)))
        await fields.desktop.do(Write("", overwrite=True))
        assert await mask() == []
        await fields.desktop.do(Write("plain", overwrite=True))
        assert await mask() == [], "it is forgotten"
        await fields.desktop.do(Write("", overwrite=True))


async def test_the_field_of_a_program_that_draws_late_is_reported(probe, state, until, tmp_path):
    told = state(tmp_path / "late")
    async with VirtualDesktop(app=probe("fields", told.path, 700), secrets=secrets()) as desktop:
        await until(told.path.exists)
        await desktop.do(Click(told.at("entry")))
        (typed,) = (await desktop.do(Write("{{secret:pw}}"))).typed
        left, top = told.read()["at"]["entry"][2:]
        assert typed.box.left <= left
        assert typed.box.top <= top < typed.box.bottom < told.at("themed").y


async def test_frames_that_differ_only_in_a_typed_value_are_equal_after_redaction(fields):
    masker, painting = TypedFields(), []
    await fields.desktop.do(Click(fields.told.at("entry")))
    for text in ("{{secret:PASSWORD}}", "{{secret:PASSWORD}}{{secret:PASSWORD}}"):
        receipt = await fields.desktop.do(Write(text, overwrite=True))
        masker.typed(receipt.typed)
        frame = await fields.desktop.look(after_action=True)
        painting.append(paint_masks(frame, await masker.masks(frame)).frame.digest)
    assert painting[0] == painting[1]
    await fields.desktop.do(Write("", overwrite=True))


async def test_the_field_is_reported_also_if_the_typing_is_cancelled(fields, until):
    await fields.desktop.do(Click(fields.told.at("entry")))
    await fields.desktop.do(Write("", overwrite=True))
    assert await fields.told.becomes("entry", "") == "", "the field must be empty before the secret is typed"
    typing = asyncio.create_task(fields.desktop.do(Write("{{secret:PASSWORD}}" * 100)))
    await until(lambda: fields.told.read()["fields"]["entry"])
    typing.cancel()
    with pytest.raises(asyncio.CancelledError) as stopped:
        await typing
    masker = TypedFields()
    masker.typed(stopped.value.typed)
    masks = await masker.masks(await fields.desktop.look(after_action=True))
    left, top = fields.told.read()["at"]["entry"][2:]
    assert any(mask.box.left <= left and mask.box.top <= top < mask.box.bottom for mask in masks)
    await fields.desktop.do(Write("", overwrite=True))


@pytest.mark.parametrize("kind", [AttachedDesktop, VirtualDesktop])
def test_a_secret_without_a_bound_program_is_refused(kind):
    display = {"display": ":7"} if kind is AttachedDesktop else {}
    with pytest.raises(InvalidUsage, match="not bound to a program"):
        kind(**display, secrets={"pw": VALUE})
    kind(**display, secrets={"pw": Secret("pw", VALUE, "xterm")})
