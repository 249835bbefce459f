"""The legacy program on a real X server: its features, and that each of its traps works."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from legacy_ledger_db import LedgerFile, NotALedger, Transaction, create_database

from holo_tasks import DesktopFailed
from holo_tasks.desktop import tk_python

PROGRAM = Path(__file__).parents[2] / "flows" / "demo" / "legacy_ledger.py"

LUMIERE = Transaction("TX-10482", "Café Lumière", "2024-03-11", 128450, "EUR", "Zoë Martin", "Posted")
NOTE = "Receipt says 128.45"
PASSWORD = secrets.token_hex(4)

State = dict[str, Any]


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    """A private X server with a window manager."""
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    with os.fdopen(reading) as pipe:
        name = f":{pipe.readline().strip()}"
    manager = subprocess.Popen(
        ["openbox"], env={**os.environ, "DISPLAY": name}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    yield name
    for process in (manager, server):
        process.terminate()
        process.wait(timeout=5)


class Clerk:
    """A person at the keyboard, with the positions from the state file."""

    def __init__(self, display: str, folder: Path, *options: str) -> None:
        self.ledger = LedgerFile(folder / "ledger.db")
        create_database(self.ledger.path, [LUMIERE])
        self._state_file = folder / "state.json"
        self._environment = {**os.environ, "DISPLAY": display, "MERIDIAN_PASSWORD": PASSWORD}
        # The last of repeated options wins.
        quiet = ["--slow", "0.1,0.2", "--tip-after", "0"]
        files = ["--db", str(self.ledger.path), "--state-file", str(self._state_file)]
        command = [tk_python(), str(PROGRAM), *files, *quiet, *options]
        self.program = subprocess.Popen(command, env=self._environment)

    def state(self) -> State:
        try:
            return dict(json.loads(self._state_file.read_text()))
        except FileNotFoundError:
            return {"screen": None, "status": "", "values": {}, "popup": None, "busy": True}

    def until(self, seen: Callable[[State], bool], what: str) -> State:
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            state = self.state()
            if seen(state):
                return state
            time.sleep(0.01)
        raise AssertionError(f"waited for {what}, got {self.state()}")

    def at(self, screen: str) -> State:
        return self.until(lambda state: state["screen"] == screen and not state["busy"], screen)

    def click(self, part: str, times: int = 1) -> None:
        left, top, width, height = self.state()["widgets"][part]
        spot = (str(left + min(width // 2, 60)), str(top + height // 2))
        again = ["--repeat", str(times), "--delay", "60"]
        self._xdotool("mousemove", *spot, "click", *again, "1")

    def write(self, part: str, text: str) -> None:
        self.click(part)
        self.until(lambda state: state["focus"] == part, f"the caret in {part}")
        self._type(part, text)

    def _type(self, part: str, text: str) -> None:
        self._xdotool("type", "--delay", "5", text)
        hidden = "\N{BULLET}" * len(text) if part == "password" else text
        self.until(lambda state: state["values"].get(part) == hidden, f"{part} filled in")

    def press(self, *keys: str) -> None:
        self._xdotool("key", *keys)

    def log_in(self) -> None:
        """Log in by keyboard alone; the caret is in the first field."""
        self.at("sign_on")
        for part, text, then in (("user", "auditor", "Tab"), ("password", PASSWORD, "Return")):
            self.until(lambda state: state["focus"] == part, f"the caret in {part}")  # noqa: B023
            self._type(part, text)
            self.press(then)
        self.at("menu")

    def open_search(self) -> None:
        self.click("transaction_search")
        self.at("search")

    def look_up(self, reference: str) -> None:
        self.write("reference", reference)
        self.press("Return")

    def fill_flag(self) -> None:
        self.click("flag")
        self.at("flag")
        self.click("reason:Wrong amount")
        self.write("note", NOTE)

    def _xdotool(self, *arguments: str) -> None:
        subprocess.run(["xdotool", *arguments], env=self._environment, check=True, timeout=10)


@pytest.fixture
def clerk(display: str, tmp_path: Path) -> Iterator[Callable[..., Clerk]]:
    clerks: list[Clerk] = []

    def start(*options: str) -> Clerk:
        clerks.append(Clerk(display, tmp_path, *options))
        return clerks[-1]

    yield start
    for each in clerks:
        each.program.terminate()
        each.program.wait(timeout=5)


@pytest.mark.desktop
def test_a_wrong_password_is_reported_and_a_flag_is_saved_once(clerk: Callable[..., Clerk]) -> None:
    it = clerk()
    it.at("sign_on")
    it.write("user", "auditor")
    it.write("password", "guess")
    it.press("Return")
    it.until(lambda state: state["status"] == "E-101 SIGN ON REFUSED", "the refusal")
    it.write("password", PASSWORD)
    it.click("log_in")
    it.at("menu")

    it.open_search()
    it.look_up("TX-99999")
    it.at("no_record")
    it.click("back")
    it.at("search")
    it.look_up(LUMIERE.reference)
    shown = it.at("detail")["values"]
    assert shown["Amount"] == "1,284.50"
    assert shown["Merchant"] == "Café Lumière"
    assert shown["flags"] == "Flags on file: 0"

    it.fill_flag()
    it.click("save")
    number = it.at("saved")["values"]["flag_id"]
    it.click("ok")
    assert it.at("detail")["values"]["flags"] == "Flags on file: 1 (Wrong amount)"

    [flag] = it.ledger.flags()
    assert (str(flag.id), flag.reference, flag.reason) == (number, LUMIERE.reference, "Wrong amount")
    assert flag.note == NOTE
    assert [attempt.outcome for attempt in it.ledger.journal()] == ["saved"]


@pytest.mark.desktop
def test_each_click_of_a_double_click_on_save_saves_a_flag(clerk: Callable[..., Clerk]) -> None:
    it = clerk("--seed", "5")  # with this seed the first save works in the background, the second hangs
    it.log_in()
    it.open_search()
    it.look_up(LUMIERE.reference)
    for rounds in (1, 2):
        it.at("detail")
        it.fill_flag()
        it.click("save", times=2)
        it.until(lambda state: state["screen"] == "saved", "the confirmation")
        it.until(lambda _: len(it.ledger.flags()) == 2 * rounds, f"{2 * rounds} flags")  # noqa: B023
        it.at("saved")
        it.click("ok")
    it.at("detail")
    assert len(it.ledger.journal()) == 4


@pytest.mark.desktop
def test_a_malformed_reference_changes_only_the_status_line(clerk: Callable[..., Clerk]) -> None:
    it = clerk("--slow", "0,0")
    it.log_in()
    it.open_search()
    before = it.state()
    for malformed in ("tx-10482", " TX-10482", "TX-1048"):
        it.look_up(malformed)
        after = it.until(lambda state: state["status"] == "E-114 CHECK FIELD: REFERENCE", "the error code")
        assert after["screen"] == "search"
        assert after["heading"] == before["heading"]
        assert after["widgets"] == before["widgets"]
        assert after["values"] == {"reference": malformed}
        it.click("clear")
        it.until(lambda state: state["values"] == {"reference": ""}, "the field cleared")
        it.press("Return")  # an empty reference is malformed too
        it.press("F1")  # any other message, so that the next error is distinguishable
        it.until(lambda state: state["status"].startswith("M-001"), "the help line")
    assert it.ledger.journal() == []


@pytest.mark.desktop
def test_a_short_note_saves_nothing(clerk: Callable[..., Clerk]) -> None:
    it = clerk("--slow", "0,0")
    it.log_in()
    it.open_search()
    it.look_up(LUMIERE.reference)
    it.at("detail")
    it.click("flag")
    it.at("flag")
    it.write("note", "too short")
    it.click("save")
    it.until(lambda state: state["status"] == "E-114 CHECK FIELD: REASON", "the reason error")
    it.click("reason:Other")
    it.click("save")
    it.until(lambda state: state["status"] == "E-114 CHECK FIELD: NOTE", "the note error")
    assert it.state()["screen"] == "flag"
    assert it.ledger.flags() == []
    assert [attempt.outcome for attempt in it.ledger.journal()] == ["rejected", "rejected"]


@pytest.mark.desktop
def test_the_session_expires_and_a_new_one_starts_at_the_menu(clerk: Callable[..., Clerk]) -> None:
    it = clerk("--session-actions", "3")
    it.log_in()
    it.open_search()
    it.look_up(LUMIERE.reference)
    it.at("detail")
    it.fill_flag()
    it.click("save")
    assert it.at("sign_on")["status"] == "M-090 Session expired"
    assert it.ledger.flags() == []
    assert [attempt.outcome for attempt in it.ledger.journal()] == ["expired"]
    it.log_in()


@pytest.mark.desktop
def test_a_tip_pops_up_and_blocks_the_form_until_closed(clerk: Callable[..., Clerk]) -> None:
    it = clerk("--tip-after", "2")
    it.log_in()
    it.open_search()
    it.until(lambda state: state["popup"] == "tip", "the tip")
    it.click("search")
    it.press("T", "X", "F9")
    assert it.state()["screen"] == "search"
    it.press("Escape")
    closed = it.until(lambda state: state["popup"] is None, "the tip to close")
    assert closed["status"] == "M-000 Ready"
    assert closed["values"] == {"reference": ""}
    it.click("main_menu")
    it.at("menu")


@pytest.mark.desktop
@pytest.mark.parametrize(("size", "widest", "highest"), [("9", 640, 440), ("11", 760, 520), ("18", 1200, 760)])
def test_every_button_is_inside_the_window_at_any_font_size(
    clerk: Callable[..., Clerk], size: str, widest: int, highest: int
) -> None:
    it = clerk("--font-size", size, "--slow", "0,0", "--position", "20,10")
    it.log_in()
    it.open_search()
    it.look_up(LUMIERE.reference)
    it.at("detail")
    it.click("flag")
    state = it.at("flag")
    left, top, width, height = state["window"]
    assert width <= widest
    assert height <= highest
    boxes = sorted(state["widgets"].values(), key=lambda box: box[1])
    for x, y, wide, high in boxes:
        assert left <= x
        assert top <= y
        assert x + wide <= left + width
        assert y + high <= top + height
    note, save = state["widgets"]["note"], state["widgets"]["save"]
    assert note[1] + note[3] <= save[1]


@pytest.mark.parametrize("what", ["missing", "not a database", "no password"])
def test_a_startup_error_is_one_line_with_exit_code_2(tmp_path: Path, what: str) -> None:
    path = tmp_path / "ledger.db"
    if what == "not a database":
        path.write_text("hello")
    elif what == "no password":
        create_database(path, [LUMIERE])
    environment = {name: value for name, value in os.environ.items() if name != "MERIDIAN_PASSWORD"}
    command = [tk_python(), str(PROGRAM), "--db", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=10, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_a_ledger_file_is_never_replaced_or_left_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with pytest.raises(ValueError, match="tx-1"):
        create_database(path, [Transaction("tx-1", "", "", 0, "", "", "")])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NotALedger):
        LedgerFile(path).check()
    create_database(path, [LUMIERE])
    assert LedgerFile(path).transaction(LUMIERE.reference) == LUMIERE
    with pytest.raises(FileExistsError):
        create_database(path, [])


def test_without_tkinter_the_debian_package_is_named() -> None:
    with pytest.raises(DesktopFailed, match="python3-tk"):
        tk_python(["/nonexistent/python3", "/bin/false"])
