"""Rules that cannot be checked on a remote screen are refused before the run, and at each action."""

from __future__ import annotations

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.gestures import Click, Write
from holo_tasks.core.input.permit import Scene
from holo_tasks.core.programs import Owner, may_run
from holo_tasks.core.prompts.tool_calls import ClickCall, WriteCall
from holo_tasks.core.screen.frame import Frame, OnScreen
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.remote_screen import Rdp, Vnc, clients_name, untypable
from holo_tasks.core.screen.states import Window
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop import Settle
from holo_tasks.desktop.programs.app_setting import AppSetting
from holo_tasks.desktop.secrets.secret_binding import Binding
from holo_tasks.run.rules.remote_screen_rules import check_remote_rules
from holo_tasks.safety.approval_rules import Confirm
from holo_tasks.safety.masking.places import WindowRule
from holo_tasks.safety.masking.settings import Redaction, Windows
from holo_tasks.safety.policy import Rules
from holo_tasks.vision.state_recognizer import _shows_window

WHOLE = Box(0, 0, 100, 100)
VIEWER = Owner("/usr/bin/xtigervncviewer", pid=7, title="lab - TigerVNC", box=WHOLE)
FRAME = Frame(bytes(3), Size(1, 1), ":1", windows=(OnScreen(WHOLE, (VIEWER,), solid=True),))


async def refused(rules: Rules, write: bool = False) -> str:
    async def owner(at: Point | None) -> Owner:
        return VIEWER

    async def look(**_: object) -> Frame:
        return FRAME

    scene = Scene(FRAME, owner, None, look, None, None, None)
    call = WriteCall(tool_name="write", content="x") if write else ClickCall(tool_name="click", element="OK", x=1, y=1)
    gesture = Write("x") if write else Click(Point(5, 5))
    permit = await rules.under("act").permit(call, gesture, scene)
    return "asks" if permit.asks else "" if permit.allowed else permit.rule


async def test_window_rules_do_not_fail_open() -> None:
    assert "the owners of the windows there" in await refused(Rules(programs=("ledger",)))
    assert await refused(Rules(programs=("xtigervncviewer",))) == ""
    assert await refused(Rules(confirm=(Confirm(programs=("ledger",)),))) == "asks"
    left = Rules(regions=(Box(0, 0, 50, 50),))
    assert await refused(left) == ""
    assert "cannot be limited to a part of the screen" in await refused(left, write=True)
    assert "cannot be limited" in await refused(Rules(forbidden_regions=(Box(0, 0, 9, 9),)), write=True)


def test_window_masks_treat_a_viewer_as_any_program() -> None:
    assert may_run(VIEWER, ("keepass",))
    assert WindowRule(("keepass",), title="Vault").takes(VIEWER)
    assert _shows_window(FRAME, Window(title="Login*")) is None
    assert _shows_window(FRAME, Window(program="xtigervncviewer")) is True


def test_a_secret_on_a_remote_screen_must_be_bound_to_a_field() -> None:
    binding = Binding(lambda at: VIEWER, lambda pid: True, lambda at: False)
    assert "Bind the secret to a field" in binding.refusal([Secret("A", "v")], None)
    assert "Bind the secret to a field" in binding.refusal([Secret("A", "v", title="lab", fields=("Name",))], None)
    assert binding.refusal([Secret("A", "v", fields=("Name",))], None) == ""


@pytest.mark.parametrize(
    ("rules", "redaction", "secrets", "why"),
    [
        (Rules(programs=("ledger",)), None, {}, "rules.programs allows ledger"),
        (Rules(confirm=(Confirm(programs=("ledger",)),)), None, {}, "confirm is about ledger"),
        (Rules(), Redaction(windows=(Windows(programs=("mail",)),)), {}, "redaction.windows"),
        (Rules(), None, {"A": Secret("A", "v")}, "the secret 'A' is bound to a program's windows"),
        (Rules(), None, {"A": Secret("A", "v", title="x", fields=("N",))}, "title 'x'"),
    ],
)
def test_rules_about_remote_windows_are_refused_before_the_run(
    rules: Rules, redaction: Redaction | None, secrets: dict[str, Secret], why: str
) -> None:
    check_remote_rules("", rules, redaction, secrets)
    with pytest.raises(InvalidUsage, match=why):
        check_remote_rules("lab:5900", rules, redaction, secrets)


def test_rules_about_the_viewer_itself_are_allowed() -> None:
    rules = Rules(programs=("/usr/bin/xfreerdp",), confirm=(Confirm(text="Delete"),))
    check_remote_rules("erp:3389", rules, Redaction(), {"A": Secret("A", "v", fields=("Name",))})


def test_a_remote_screen_is_parsed_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Rdp("erp", user="me", password="geheim", fingerprint="AB:" * 31 + "AB")
    assert "geheim" not in repr(told)
    assert told.fingerprint == "ab" * 32
    for wrong in (
        lambda: Rdp("erp"),
        lambda: Rdp("-x", user="a"),
        lambda: Rdp("erp", user="a", paste=True),
        lambda: Vnc("erp", port=0),
        lambda: Vnc("erp", fingerprint="ab"),
        lambda: Vnc("erp", password="a\nb"),
        lambda: Vnc("erp", answers_within_s=float("nan")),
        lambda: Vnc("a b /v:other"),
    ):
        with pytest.raises(InvalidUsage):
            wrong()
    assert untypable("aä\n€b€") == "ä€"
    assert clients_name(["/usr/bin/xfreerdp", "/v:erp"]) == "xfreerdp"
    assert AppSetting.of("xtigervncviewer lab:1", {}, alone=True).far == "xtigervncviewer"
    assert AppSetting.of("xterm", {}, alone=True).far == ""
    patient = Settle(patience_s=30.0)
    far, near = (AppSetting.of(app, {}, alone=True).settle(patient) for app in ("xtigervncviewer lab:1", "xterm"))
    assert (far.patience_s, near) == (30.0, patient)
    assert far.quiet_s > near.quiet_s
    with pytest.raises(InvalidUsage, match="Leave them out"):
        AppSetting.of(told, {}, alone=False)
    with pytest.raises(InvalidUsage, match="not this machine"):
        AppSetting.of(Vnc("192.0.2.7"), {"HOLO_LOCAL_ONLY": "1"}, alone=True)
