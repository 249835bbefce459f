"""Runs all checks side by side and tells what they find as it is found."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from holo_tasks.cli.doctor.findings import Chain, Finding
from holo_tasks.cli.doctor.screen import check_screen
from holo_tasks.cli.doctor.services import check_audit, check_prefect, check_shared_database
from holo_tasks.cli.doctor.view import check_view
from holo_tasks.cli.signals import cancel_at_signals
from holo_tasks.core.errors import DesktopFailed, HoloError, InvalidUsage, ModelFailed, StoreLost
from holo_tasks.safety.database_address import DATABASE_VARIABLE

LONGEST_S = 3600
Check = Callable[[Chain], Awaitable[None]]


@dataclass(frozen=True)
class Asked:
    """What the command line asked for; None is what the environment says, or the default."""

    base_url: str | None
    model: str | None
    dialect: str
    display: str | None
    audit: str | None
    timeout_s: float


def examine(asked: Asked, put: Callable[[str, int], int], *, as_json: bool) -> int:
    """Run every check; write a line for each, or one JSON object for all, with ``put``; return the exit code.

    ``put`` is given an exit code and returns it, or another one where it could not write.
    """
    if not 0 < asked.timeout_s <= LONGEST_S:
        raise InvalidUsage(f"--timeout is a number of seconds above 0, up to {LONGEST_S}, not {asked.timeout_s:g}.")
    unwritten = 0

    def tell(finding: Finding) -> None:
        nonlocal unwritten
        if not as_json:
            unwritten = put(str(finding), unwritten)

    found = asyncio.run(_all(asked, tell))
    # What is set up wrong is told before what it may have caused elsewhere.
    code = min((finding.exit_code for finding in found if finding.status == "failed"), default=0)
    if not as_json:
        return code or unwritten
    status = "failed" if code else "ok"
    whole = {"status": status, "checks": [finding.described() for finding in found]}
    return put(json.dumps(whole, ensure_ascii=False), code)


async def _all(asked: Asked, tell: Callable[[Finding], None]) -> list[Finding]:
    """Return all findings, in the order of the checks."""
    cancel_at_signals(asyncio.current_task())
    found: dict[str, Finding] = {}

    def note(finding: Finding) -> None:
        found[finding.name] = finding
        tell(finding)

    names: list[str] = []
    async with asyncio.TaskGroup() as group:
        for chained, check, kind in _checks(asked):
            names += chained
            group.create_task(_guarded(Chain(chained, note), check, kind))
    return [found[name] for name in names]


def _checks(asked: Asked) -> list[tuple[Sequence[str], Check, type[HoloError]]]:
    """Return each chain: its names, what makes its checks, and as what an unforeseen fault counts."""

    async def check_model(chain: Chain) -> None:
        # To import what speaks to a model takes a second, in which the other checks go on.
        loaded = await asyncio.to_thread(import_module, "holo_tasks.cli.doctor.model")
        await loaded.check_model(chain, asked.base_url, asked.model, asked.dialect, asked.timeout_s)

    # Named only where it is set up: with a file in HOLO_HOME there is nothing that could be elsewhere.
    shared = bool(os.environ.get(DATABASE_VARIABLE, "").strip())
    return [
        (("endpoint", "key", "model", "image", "output"), check_model, ModelFailed),
        (("display", "input"), lambda chain: check_screen(chain, asked.display, asked.timeout_s), DesktopFailed),
        (("view",), check_view, InvalidUsage),
        (("audit",), lambda chain: check_audit(chain, asked.audit, asked.timeout_s), InvalidUsage),
        (("prefect",), lambda chain: check_prefect(chain, asked.timeout_s), InvalidUsage),
        *([(("database",), lambda chain: check_shared_database(chain, asked.timeout_s), StoreLost)] if shared else []),
    ]


async def _guarded(chain: Chain, check: Check, kind: type[HoloError]) -> None:
    """Make the checks of a chain; whatever goes wrong is told of the check that was next."""
    try:
        await check(chain)
    except HoloError as error:
        chain.stop(error)
    except Exception as error:
        chain.stop(kind(f"This failed in a way that nobody thought of, {type(error).__name__}: {error}"))
