"""Writes down every key, button and motion an X server is given, by the server's own clock: `witness.py LOG`.

The server's clock is CLOCK_MONOTONIC in milliseconds, so its times can be compared with `time.monotonic` of any
process on this machine. Nothing escapes it, wherever on the screen it goes and however slow the program there is.
"""

import os
import struct
import sys
from typing import Any

from Xlib import X
from Xlib.display import Display
from Xlib.ext import record

KINDS = {X.KeyPress: "key", X.KeyRelease: "keyup", X.ButtonPress: "press", X.ButtonRelease: "release"}
EVENT = struct.Struct("=BBHI24x")


def main() -> None:
    os.environ.setdefault("XAUTHORITY", os.devnull)
    display = Display()
    with open(sys.argv[1], "a", buffering=1) as log:  # noqa: PTH123

        def note(reply: Any) -> None:
            if reply.category == record.StartOfData:
                log.write("ready 0 0\n")
            elif reply.category == record.FromServer:
                for kind, detail, _, time_ms in EVENT.iter_unpack(reply.data[: len(reply.data) // 32 * 32]):
                    log.write(f"{KINDS.get(kind & 0x7F, 'motion')} {detail} {time_ms}\n")

        none = {"core_requests": (0, 0), "core_replies": (0, 0), "ext_requests": (0, 0, 0, 0), "errors": (0, 0)}
        none |= {"ext_replies": (0, 0, 0, 0), "delivered_events": (0, 0), "client_started": False, "client_died": False}
        context = display.record_create_context(
            0, [record.AllClients], [{**none, "device_events": (X.KeyPress, X.MotionNotify)}]
        )
        display.record_enable_context(context, note)


if __name__ == "__main__":
    main()
