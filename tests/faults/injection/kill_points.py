"""Kill the own process at the n-th call of a durable operation: PYTHON_HOLO_FAULT=``point:when:n[:who]``.

``when`` is before, inside (in a database transaction, before its commit) or after. A point of the desktop can also kill
the flow's process: ``who`` is desktop, flow or both. Every call is logged to PYTHON_HOLO_FAULT_LOG, so a run without a
fault gives their number. PYTHON_HOLO_MUTANT=forgets makes the journal naive: it ignores the intents of earlier
attempts. A desktop's process inherits variables that begin with PYTHON, and few others.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any

LEDGER, ITEMS, BUDGETS = (
    "holo_tasks.safety.records.ledger:Ledger",
    "holo_tasks.safety.records.items:Items",
    "holo_tasks.safety.records.budgets",
)
FLOW_POINTS = {
    "claim": f"{LEDGER}._try_claim",
    "intend": f"{LEDGER}.intend",
    "settle": f"{LEDGER}.settle",
    "void": f"{LEDGER}.void",
    "finish": f"{LEDGER}.finish",
    "disregard": f"{LEDGER}.delete_intents",
    "release": f"{LEDGER}._release",
    "file": f"{ITEMS}.file",
    "unlist": f"{ITEMS}.settle",
    "hold": f"{BUDGETS}:Budgets.hold",
    "pay": f"{BUDGETS}:Budgets.pay",
    "count": f"{BUDGETS}:Budgets.act",
    "begin": "holo_tasks.safety.records.run_list:RunBook.began",
    "end": "holo_tasks.safety.records.run_list:RunBook.ended",
    "event": "holo_tasks.audit.trace:LocalTrace.append",
    "frame": "holo_tasks.audit.trace:LocalTrace.keep",
    "spool": "holo_tasks.audit.spool:Spool.note_uploaded",
    "row": "holo_tasks.office.workbook:Workbook.upsert",
}
DESKTOP_POINTS = {
    "down": "holo_tasks.desktop.input.pointer:Pointer._press",
    "up": "holo_tasks.desktop.input.pointer:Pointer._release",
    "key": "holo_tasks.desktop.input.keyboard:Keyboard.press",
}
NOT_IN_DATABASE = ("begin", "end", "event", "frame", "spool", "row")
IN_DATABASE = tuple(point for point in FLOW_POINTS if point not in NOT_IN_DATABASE)
_counts: Counter[str] = Counter()
_inside = threading.local()


def arm_flow() -> None:
    """Arm the flow's process."""
    for point, place in FLOW_POINTS.items():
        _wrap(point, place, lambda who: _die())
    _arm_transactions()
    if os.environ.get("PYTHON_HOLO_MUTANT") == "forgets":
        _forget_intents()


def arm_desktop() -> None:
    """Arm the desktop's process. Its last argument is the process id of the flow."""
    for point, place in DESKTOP_POINTS.items():
        _wrap(point, place, _die_with_flow)


def _wrap(point: str, place: str, die: Callable[[str], None]) -> None:
    module, _, path = place.partition(":")
    owner_name, _, name = path.partition(".")
    owner = getattr(importlib.import_module(module), owner_name)
    inner = getattr(owner, name)
    asked, when, number, who = _fault()

    @wraps(inner)
    def counted(*args: Any, **kwargs: Any) -> Any:
        _counts[point] += 1
        mine = asked == point and _counts[point] == number
        _log(f"{point} {_counts[point]} {_detail(args[1:])}")
        if mine and when == "before":
            die(who)
        _inside.armed = mine and when == "inside"
        found = inner(*args, **kwargs)
        if mine and when == "after":
            die(who)
        return found

    setattr(owner, name, counted)


def _arm_transactions() -> None:
    from holo_tasks.safety.database.store import Store

    inner = Store.transaction

    @contextmanager
    def transaction(self: Store, *patience_s: float) -> Iterator[Any]:
        with inner(self, *patience_s) as connection:
            yield connection
            if getattr(_inside, "armed", False):
                _die()

    Store.transaction = transaction  # type: ignore[method-assign]


def _forget_intents() -> None:
    from holo_tasks.safety.records.ledger import Claim, Ledger

    inner = Ledger._try_claim

    def naive(*args: Any) -> Claim | None:
        claim = inner(*args)
        return None if claim is None else replace(claim, earlier=())

    Ledger._try_claim = naive  # type: ignore[method-assign]


def _fault() -> tuple[str, str, int, str]:
    point, when, number, who, *_ = [*(os.environ.get("PYTHON_HOLO_FAULT") or "::0").split(":"), "both"]
    return point, when, int(number), who


def _detail(args: tuple[Any, ...]) -> str:
    plain = [getattr(arg, "goal", arg) for arg in args]
    words = (str(arg).split() for arg in plain if isinstance(arg, str | int) or hasattr(arg, "x"))
    return " ".join(word for some in words for word in some)[:120]


def _log(line: str) -> None:
    descriptor = os.open(os.environ["PYTHON_HOLO_FAULT_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


def _die_with_flow(who: str) -> None:
    if who in ("flow", "both"):
        os.kill(int(sys.argv[-1]), signal.SIGKILL)
    if who in ("desktop", "both"):
        _die()


def _die() -> None:
    _log("killed")
    os.kill(os.getpid(), signal.SIGKILL)
