"""The flight recorder: what is written down, where it goes, how it is read back and shown.

    destination = Destination.parse("s3://bucket/prefix")     # or a folder
    destination.check()                                       # fails fast, nothing started
    async with destination.open(run_id, home=home) as recorder:
        await recorder.keep(shot)                             # durable on return
        await recorder.record(event)                          # durable on return
    recorder.delivery.message

`trace` (the folder and its chain) ← `recorder` (asynchronous) ← `stores` (where it goes); `spool`, `upload`,
`uploader` and `resume` carry a trace to a bucket (`s3`). `keys` signs it, `anchoring` writes its heads down apart
from it; `verify` (over `bundle`, `heads`, `public_key`) checks all that and shares nothing with them.
`reader` reads any trace back; `story` orders it,
`report` and `timeline` show it.
"""

from holo_tasks.audit.errors import DamagedTrace, DiskFull, EvidenceFailed, StoreTrouble
from holo_tasks.audit.reader import ChainCheck, Trace, check_chain, open_trace
from holo_tasks.audit.recorder import Backlog, Delivery, TraceRecorder
from holo_tasks.audit.stores import S3, Destination, Folder
from holo_tasks.audit.trace import LocalTrace

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
