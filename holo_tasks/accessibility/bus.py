"""A message bus (D-Bus) of a desktop's own: its programs reach no other one, and tell of themselves there.

A program on a person's bus could ask their keyring and their portals. On this one there are only the programs of the
desktop, and the one service that may be started is AT-SPI's registry, when a program or a reader first asks for it.
One bus serves both as session bus and as the bus of accessibility, whose own one takes messages of a gigabyte.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAM, PACKAGES = "dbus-daemon", "dbus at-spi2-core"
REGISTRY = "org.a11y.atspi.Registry"
SERVICES = Path("/usr/share/dbus-1/accessibility-services")
USUAL_REGISTRIES = ("/usr/libexec/at-spi2-registryd", "/usr/lib/at-spi2-core/at-spi2-registryd")
LONGEST_PATH = 99
"""Of a socket, in bytes: what D-Bus takes is less than what the kernel does."""
PATIENCE_S = 5.0
LARGEST_MESSAGE = 16 * 1024 * 1024
"""The bus cuts off whoever sends a longer one: a tree of 5,000 elements takes one or two megabytes."""
TELLS_IF_FORCED = "--force-renderer-accessibility"
"""Without it Chromium tells of its own window only, and nothing of the page."""
CHROMIUM = re.compile(
    r"chromium(-browser)?|(google-)?chrome(-(stable|beta|dev|unstable))?|microsoft-edge(-\w+)?|msedge|brave(-browser)?"
    r"|vivaldi(-\w+)?|opera|electron\d*"
)
SETTINGS = f"""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <keep_umask/>
  <listen>%(address)s</listen>
  <auth>EXTERNAL</auth>
  <servicedir>%(services)s</servicedir>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
    <allow own="*"/>%(denied)s
  </policy>
  <limit name="max_message_size">{LARGEST_MESSAGE}</limit>
  <limit name="max_incoming_bytes">{2 * LARGEST_MESSAGE}</limit>
  <limit name="max_outgoing_bytes">{4 * LARGEST_MESSAGE}</limit>
  <limit name="max_replies_per_connection">50000</limit>
  <limit name="max_connections_per_user">256</limit>
  <limit name="max_completed_connections">256</limit>
</busconfig>
"""
DENIED = """
    <deny send_interface="org.freedesktop.DBus" send_member="UpdateActivationEnvironment"/>"""
"""With a variable for it a program could have that service, which is outside, load what it likes."""


@dataclass(frozen=True, slots=True)
class Bus:
    """A running bus. ``why_not`` is empty if programs can tell of themselves over it."""

    process: subprocess.Popen[bytes] | None
    address: str
    ready: int
    why_not: str = ""

    def environment(self) -> dict[str, str]:
        """Return what a program is given to be on this bus, and to tell of itself there."""
        if self.process is None:
            return {}
        on = {"DBUS_SESSION_BUS_ADDRESS": self.address}
        telling = {
            "AT_SPI_BUS_ADDRESS": self.address,
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
            "GNOME_ACCESSIBILITY": "1",  # Firefox
        }
        return on if self.why_not else on | telling


def telling(command: Sequence[str]) -> list[str]:
    """Return a command that has a browser made of Chromium tell of its pages; any other one stays as it is."""
    program, *rest = command
    if not CHROMIUM.fullmatch(os.path.basename(program)) or any(each.startswith(TELLS_IF_FORCED) for each in rest):  # noqa: PTH119
        return list(command)
    return [program, TELLS_IF_FORCED, *rest]


def launch(folder: Path, env: Mapping[str, str], tie: Callable[[], None], *, closed: bool = False) -> Bus:
    """Start a bus whose socket is in ``folder``; `listening` waits for it. ``tie`` is run in its process first.

    From a ``closed`` program, which is kept apart, the bus takes no word on how to start its one service.
    """
    program, registry = shutil.which(PROGRAM), registry_program()
    path = folder / "bus"
    if program is None:
        return Bus(None, "", -1, f"There is no {PROGRAM} here: apt-get install {PACKAGES}")
    if len(os.fsencode(path)) > LONGEST_PATH:
        return Bus(None, "", -1, f"The path {path} is too long for a socket: set TMPDIR to a shorter one.")
    address = f"unix:path={_escaped(path)}"
    services = folder / "services"
    services.mkdir(mode=0o700)
    if registry:
        (services / f"{REGISTRY}.service").write_text(f"[D-BUS Service]\nName={REGISTRY}\nExec={registry}\n")
    settings = folder / "bus.conf"
    more = DENIED if closed else ""
    settings.write_text(SETTINGS % {"address": address, "services": _as_markup(str(services)), "denied": more})
    # Without a display the registry takes hold of no keys; nothing here keeps settings.
    given = {name: text for name, text in env.items() if name != "DISPLAY"}
    given |= {"AT_SPI_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": str(folder), "GSETTINGS_BACKEND": "memory"}
    ready, tell = os.pipe()
    try:
        with (folder / "bus.log").open("wb") as log:
            process = subprocess.Popen(
                [
                    program,
                    f"--config-file={settings}",
                    "--nofork",
                    "--nopidfile",
                    "--nosyslog",
                    f"--print-address={tell}",
                ],
                env=given,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(tell,),
                preexec_fn=tie,
            )
    except OSError as error:
        os.close(ready)
        return Bus(None, "", -1, f"{program} cannot be started: {error.strerror}.")
    finally:
        os.close(tell)
    why_not = "" if registry else f"AT-SPI is not installed here: apt-get install {PACKAGES}"
    return Bus(process, address, ready, why_not)


def listening(bus: Bus) -> Bus:
    """Wait until the bus takes connections; return one that says why not if it does not come to that."""
    if bus.process is None:
        return bus
    try:
        said = select.select([bus.ready], [], [], PATIENCE_S)[0] and os.read(bus.ready, 4096)
    finally:
        os.close(bus.ready)
    if said:
        return bus
    bus.process.kill()
    bus.process.wait()
    return Bus(None, "", -1, f"{PROGRAM} does not start: its log, bus.log, says why.")


def registry_program() -> str:
    """Return the program of AT-SPI's registry; empty if it is not installed."""
    told = SERVICES / f"{REGISTRY}.service"
    named = re.findall(r"^Exec=(\S+)", told.read_text(errors="replace"), re.MULTILINE) if told.is_file() else []
    return next((path for path in (*named, *USUAL_REGISTRIES) if os.access(path, os.X_OK)), "")


def _escaped(path: Path) -> str:
    """Write a path as addresses of D-Bus have it."""
    plain = b"-_/.\\*0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "".join(chr(byte) if byte in plain else f"%{byte:02x}" for byte in os.fsencode(path))


def _as_markup(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
