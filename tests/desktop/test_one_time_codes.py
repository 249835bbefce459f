"""One-time codes are typed into real fields by the process that owns the keyboard: each once, and never the seed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import InvalidUsage, SecretRefused
from holo_tasks.core.input.gestures import Write
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop import VirtualDesktop

SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
ADDRESS = f"otpauth://totp/Harbour:anna?secret={SEED}&period=15"


async def test_each_code_is_typed_once_without_the_seed(
    probe: Callable[..., list[str]],
    state: Any,
    tmp_path: Path,
    until: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path / "home"))
    told = state(tmp_path / "state")
    otp = Secret("otp", ADDRESS, totp=True)
    secrets = {"otp": otp, "elsewhere": Secret("elsewhere", SEED, "/usr/bin/xterm", totp=True)}
    seed = otp.seed
    assert seed
    async with VirtualDesktop(app=probe("fields", told.path), secrets=secrets) as desktop:
        assert await until(lambda: told.read().get("at"))
        at = told.at("entry")
        with pytest.raises(InvalidUsage, match="never typed"):
            await desktop.do(Write("{{secret:otp}}", at=at))
        with pytest.raises(SecretRefused, match="would go to"):
            await desktop.do(Write("{{totp:elsewhere}}", at=at))
        typed = []
        for _ in range(2):
            receipt = await desktop.do(Write("{{totp:otp}}", overwrite=True, at=at))
            assert receipt.typed, "the receipt must report the area of the code"
            now = seed.window(time.time())
            codes = {seed.code(window): window for window in (now - 1, now)}
            assert await until(lambda codes=codes: told.read()["fields"]["entry"] in codes)
            typed.append(codes[told.read()["fields"]["entry"]])
    assert typed[1] > typed[0], "the second code must wait for the next window"
    assert "themed" in told.read()["fields"]
    assert not told.read()["fields"]["themed"]
