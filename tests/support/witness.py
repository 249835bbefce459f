"""Log every key, button and motion event of an X server with the server's timestamps: `witness.py LOG`.

The server's clock is CLOCK_MONOTONIC in milliseconds, so its times compare with `time.monotonic` of any process on this
machine. It records all events, wherever on the screen they go and however slow the program is.
"""

import os
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

from Xlib import X
from Xlib.display import Display
from Xlib.ext import record

KINDS = {X.KeyPress: "key", X.KeyRelease: "keyup", X.ButtonPress: "press", X.ButtonRelease: "release"}
EVENT = struct.Struct("=BBHI24x")


def look(path: Path) -> None:
    """Log the pressed keys and buttons repeatedly, because the last release of some input is not recorded."""
    other = Display()
    while True:
        keymap, mask = other.query_keymap(), other.screen().root.query_pointer().mask
        down = [f"key {code}" for code in range(256) if keymap[code // 8] >> (code % 8) & 1]
        down += [f"pre {button}" for button in range(1, 6) if mask >> (7 + button) & 1]
        draft = path.with_suffix(".draft")
        draft.write_text("".join(f"{one}\n" for one in down))
        draft.replace(path)
        time.sleep(0.05)


def main() -> None:
    os.environ.setdefault("XAUTHORITY", os.devnull)
    display = Display()
    threading.Thread(target=look, args=(Path(f"{sys.argv[1]}.down"),), daemon=True).start()
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
