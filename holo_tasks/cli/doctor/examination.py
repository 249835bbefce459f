"""Run all checks of the doctor concurrently and print each result when its check ends."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from holo_tasks.cli.doctor.findings import Chain, Finding
from holo_tasks.cli.doctor.screen import check_screen
from holo_tasks.cli.doctor.storage_checks import check_audit, check_prefect, check_shared_database
from holo_tasks.cli.doctor.view import check_view
from holo_tasks.cli.signals import cancel_at_signals
from holo_tasks.core.errors import DesktopFailed, HoloError, InvalidUsage, ModelFailed, StoreLost
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE

LONGEST_S = 3600
Check = Callable[[Chain], Awaitable[None]]


@dataclass(frozen=True)
class DoctorOptions:
    """The options of the command. ``None`` means the environment variable or the default."""

    base_url: str | None
    model: str | None
    dialect: str
    display: str | None
    audit: str | None
    timeout_s: float


def examine(options: DoctorOptions, put: Callable[[str, int], int], *, as_json: bool) -> int:
    """Run every check and return the exit code. Write a line per check, or one JSON object, with ``put``.

    ``put`` takes a text and an exit code. It returns that code, or another one if the text cannot be written.
    """
    if not 0 < options.timeout_s <= LONGEST_S:
        raise InvalidUsage(f"--timeout is a number of seconds above 0, up to {LONGEST_S}, not {options.timeout_s:g}.")
    unwritten = 0

    def tell(finding: Finding) -> None:
        nonlocal unwritten
        if not as_json:
            unwritten = put(str(finding), unwritten)

    found = asyncio.run(_run_all(options, tell))
    # Configuration errors have the lowest code: they may have caused the other failures.
    code = min((finding.exit_code for finding in found if finding.status == "failed"), default=0)
    if not as_json:
        return code or unwritten
    status = "failed" if code else "ok"
    whole = {"status": status, "checks": [finding.described() for finding in found]}
    return put(json.dumps(whole, ensure_ascii=False), code)


async def _run_all(options: DoctorOptions, tell: Callable[[Finding], None]) -> list[Finding]:
    """Run all chains and return their findings in the order of the checks. ``tell`` gets each finding at once."""
    cancel_at_signals(asyncio.current_task())
    found: dict[str, Finding] = {}

    def note(finding: Finding) -> None:
        found[finding.name] = finding
        tell(finding)

    names: list[str] = []
    async with asyncio.TaskGroup() as group:
        for chained, check, kind in _checks(options):
            names += chained
            group.create_task(_guarded(Chain(chained, note), check, kind))
    return [found[name] for name in names]


def _checks(options: DoctorOptions) -> list[tuple[Sequence[str], Check, type[HoloError]]]:
    """Return the chains: names of the checks, the function that runs them, and the error class of unexpected faults."""

    async def check_model(chain: Chain) -> None:
        # Importing the model client takes a second. A thread lets the other checks go on meanwhile.
        loaded = await asyncio.to_thread(import_module, "holo_tasks.cli.doctor.model")
        await loaded.check_model(chain, options.base_url, options.model, options.dialect, options.timeout_s)

    # Only a shared database has a check of its own. The file in HOLO_HOME is part of the audit check.
    shared = bool(os.environ.get(DATABASE_VARIABLE, "").strip())
    return [
        (("endpoint", "key", "model", "image", "output"), check_model, ModelFailed),
        (("display", "input"), lambda chain: check_screen(chain, options.display, options.timeout_s), DesktopFailed),
        (("view",), check_view, InvalidUsage),
        (("audit",), lambda chain: check_audit(chain, options.audit, options.timeout_s), InvalidUsage),
        (("prefect",), lambda chain: check_prefect(chain, options.timeout_s), InvalidUsage),
        *(
            [(("database",), lambda chain: check_shared_database(chain, options.timeout_s), StoreLost)]
            if shared
            else []
        ),
    ]


async def _guarded(chain: Chain, check: Check, kind: type[HoloError]) -> None:
    """Run the checks of a chain. An error counts as the failure of the next check."""
    try:
        await check(chain)
    except HoloError as error:
        chain.stop(error)
    except Exception as error:
        chain.stop(kind(f"The check failed unexpectedly, {type(error).__name__}: {error}"))
