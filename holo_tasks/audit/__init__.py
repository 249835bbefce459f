"""Record a run's evidence, deliver it to a folder or a bucket, verify it, and show it.

A trace is ``events.jsonl`` (canonical JSON, each record signed and with the digest of the line before),
``frames/<sha256>.jpg`` and ``files/<sha256>``. With a bucket the trace is first a local spool. A thread uploads
segments with conditional puts, and a later run to the same place resumes the upload of a dead process.
`delivery_check` looks in the bucket for all parts before the spool is deleted, and missing ones are uploaded again in
the same segments. `run_opened` is the first record; a record after `run_closed` counts as tampering.

    destination = Destination.parse("s3://bucket/prefix")     # or a folder
    destination.check()                                       # fails fast, nothing started
    async with destination.open(run_id, home=home) as recorder:
        await recorder.keep(shot)                             # durable on return
        await recorder.record(event)                          # durable on return
    recorder.delivery.message

`recorder` is the asynchronous recorder of a run, over the local folder of `trace`. `reader` reads any trace back, from
a folder or a bucket. `verifier` checks a trace with a public key. It shares only the events' schema with the writer,
and for a bucket the connection (`s3`, `stores`).

`keys` signs traces and `anchors` records their heads elsewhere. `spool`, `upload`, `uploader` and `resume` deliver a
trace to a bucket. `pages` renders reports, and `csv_export` writes many runs as a table with its columns.

Names are imported on first use, so that checking a trace does not import the writer. May import `core`, `machine` and
`loop`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holo_tasks.audit.errors import DamagedTrace, DiskFull, EvidenceFailed, StoreTrouble
    from holo_tasks.audit.pages.report import Effort, write_report
    from holo_tasks.audit.reader import ChainCheck, Trace, check_chain, open_trace
    from holo_tasks.audit.recorder import Backlog, Delivery, TraceRecorder
    from holo_tasks.audit.stores import S3, Destination, Folder
    from holo_tasks.audit.trace import LocalTrace

_HOMES = {
    "DamagedTrace": "errors",
    "DiskFull": "errors",
    "EvidenceFailed": "errors",
    "StoreTrouble": "errors",
    "Effort": "pages.report",
    "write_report": "pages.report",
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
    "Effort",
    "EvidenceFailed",
    "Folder",
    "LocalTrace",
    "StoreTrouble",
    "Trace",
    "TraceRecorder",
    "check_chain",
    "open_trace",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'holo_tasks.audit' has no attribute {name!r}")
    return getattr(import_module(f"holo_tasks.audit.{_HOMES[name]}"), name)
