"""Each time window of a seed is used once, with enough time left, across all desktops of one user."""

from __future__ import annotations

from pathlib import Path

import pytest

from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop.secrets.code_windows import FOLDER, CodeWindows

SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
OTP = Secret("otp", SEED, totp=True)
NOW_S = 1_800_000_000.0  # a window of 30 s begins


class Time:
    """A clock that advances when a caller sleeps. ``meanwhile`` runs the actions of others at that time."""

    def __init__(self) -> None:
        self.now_s = NOW_S
        self.slept: list[float] = []
        self.meanwhile = lambda: None

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds
        self.meanwhile()


@pytest.fixture
def time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Time:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path / "home"))
    return Time()


def test_a_second_code_waits_for_the_next_window_also_on_another_desktop(time: Time, tmp_path: Path) -> None:
    here, there = CodeWindows(time.sleep, time), CodeWindows(time.sleep, time)
    first = here.code(OTP, here.ticket(OTP))
    assert time.slept == []
    second = there.code(OTP, there.ticket(OTP))
    assert time.slept == [30.0]
    assert first != second
    other = Secret("else", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", totp=True)
    here.ticket(other)
    assert time.slept == [30.0], "another seed has its own windows"
    (kept, _) = sorted((tmp_path / "home" / FOLDER).iterdir())
    assert kept.stat().st_mode & 0o077 == 0
    assert SEED.lower() not in (kept.name + kept.read_text()).lower()


def test_only_the_reserved_code_is_typed(time: Time) -> None:
    windows, window = CodeWindows(time.sleep, time), OTP.seed.window(NOW_S)  # type: ignore[union-attr]
    ticket = windows.ticket(OTP, window)
    time.now_s += 31
    with pytest.raises(SecretRefused, match=r"has expired.*Nothing was typed"):
        windows.code(OTP, ticket)
    with pytest.raises(SecretRefused, match="has expired"):
        windows.ticket(OTP, window)
    assert windows.ticket(OTP, window + 1).window == window + 1
    assert time.slept == []


def test_the_rest_of_a_window_is_long_enough_for_typing(time: Time) -> None:
    windows = CodeWindows(time.sleep, time)
    time.now_s += 27.5
    ticket = windows.ticket(OTP)
    assert time.slept == [2.5]
    assert ticket.window == OTP.seed.window(NOW_S + 30)  # type: ignore[union-attr]


def test_an_expired_code_is_replaced_by_the_next_one(time: Time) -> None:
    windows = CodeWindows(time.sleep, time)
    ticket = windows.ticket(OTP)
    time.now_s += 31
    assert windows.code(OTP, ticket) == OTP.seed.code(ticket.window + 1)  # type: ignore[union-attr]


def test_the_wait_ends_if_others_take_each_next_window(time: Time) -> None:
    here, there = CodeWindows(time.sleep, time), CodeWindows(time.sleep, time)
    there.ticket(OTP)
    time.meanwhile = lambda: there._try_issue(OTP.seed, "otp") and None  # type: ignore[arg-type, func-returns-value]
    with pytest.raises(SecretRefused, match=r"other runs use the next ones.*seat.*Nothing was typed"):
        here.ticket(OTP)
    assert sum(time.slept) <= 63


def test_a_clock_set_back_blocks_no_code(time: Time) -> None:
    windows = CodeWindows(time.sleep, time)
    time.now_s += 24 * 3600
    windows.ticket(OTP)
    time.now_s = NOW_S
    windows.ticket(OTP)
    assert time.slept == []


@pytest.mark.parametrize("broken", ["a folder in its place", "nonsense in it"])
def test_no_code_is_typed_if_the_used_windows_are_unknown(time: Time, tmp_path: Path, broken: str) -> None:
    windows = CodeWindows(time.sleep, time)
    windows.ticket(OTP)
    (kept,) = (tmp_path / "home" / FOLDER).iterdir()
    if broken == "nonsense in it":
        kept.write_text("about noon")
    else:
        kept.unlink()
        kept.mkdir()
    with pytest.raises(SecretRefused, match="cannot be used") as error:
        windows.ticket(OTP)
    assert SEED not in str(error.value)
