"""The flight recorder: what is written down, where it goes, how it is read back and shown.

    destination = Destination.parse("s3://bucket/prefix")     # or a folder
    destination.check()                                       # fails fast, nothing started
    async with destination.open(run_id, home=home) as recorder:
        await recorder.keep(shot)                             # durable on return
        await recorder.record(event)                          # durable on return
    recorder.delivery.message

`trace` (the folder and its chain) ← `recorder` (asynchronous) ← `stores` (where it goes); `spool`, `upload`,
`uploader` and `resume` carry a trace to a bucket (`s3`). `keys` signs it, `anchoring` writes its heads down apart
from it; `verify` (over `bundle`, `heads`, `public_key`) checks all that, and loads nothing of them but the connection
to a bucket (`s3`, `stores`) if the trace or its heads are in one.
`reader` reads any trace back; `story` orders it,
`report` and `timeline` show it.

Names are loaded when they are used, so that who only checks a trace does not load what writes one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holo_tasks.audit.errors import DamagedTrace, DiskFull, EvidenceFailed, StoreTrouble
    from holo_tasks.audit.reader import ChainCheck, Trace, check_chain, open_trace
    from holo_tasks.audit.recorder import Backlog, Delivery, TraceRecorder
    from holo_tasks.audit.stores import S3, Destination, Folder
    from holo_tasks.audit.trace import LocalTrace

_HOMES = {
    "DamagedTrace": "errors",
    "DiskFull": "errors",
    "EvidenceFailed": "errors",
    "StoreTrouble": "errors",
    "ChainCheck": "reader",
    "Trace": "reader",
    "check_chain": "reader",
    "open_trace": "reader",
    "Backlog": "recorder",
    "Delivery": "recorder",
    "TraceRecorder": "recorder",
    "S3": "stores",
    "Destination": "stores",
    "Folder": "stores",
    "LocalTrace": "trace",
}

__all__ = [
    "S3",
    "Backlog",
    "ChainCheck",
    "DamagedTrace",
    "Delivery",
    "Destination",
    "DiskFull",
    "EvidenceFailed",
    "Folder",
    "LocalTrace",
    "StoreTrouble",
    "Trace",
    "TraceRecorder",
    "check_chain",
    "open_trace",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'holo_tasks.audit' has no attribute {name!r}")
    return getattr(import_module(f"holo_tasks.audit.{_HOMES[name]}"), name)
