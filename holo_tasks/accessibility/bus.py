"""Start a D-Bus for one desktop, which is the session bus and the accessibility bus of its programs.

On a person's session bus a program could reach their keyring and their portals. Only the desktop's programs are on this
bus. AT-SPI's registry is the only service that it starts, when a program or a reader first asks for it. The bus that
AT-SPI itself starts is not used, because it accepts messages of a gigabyte.

For programs of another user the bus listens on a second socket, which that user owns. It then accepts only that user
and ours, and the registry runs as that user.

`launch` starts a `Bus`, and `await_bus` waits for it; `desktop.session.x_session` calls both.
"""

from __future__ import annotations

import os
import pwd
import re
import select
import shlex
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
"""Longest path of a socket, in bytes. D-Bus accepts less than the kernel."""
PATIENCE_S = 5.0
LARGEST_MESSAGE = 16 * 1024 * 1024
"""Largest message in bytes; the bus disconnects senders of larger ones. A tree of 5,000 elements takes 1 or 2 MB."""
PUBLISH_PAGES_OPTION = "--force-renderer-accessibility"
"""Chromium's option to publish the page; without it, it publishes only its own window."""
FEATURES_OFF, KEPT_PAGES = "--disable-features=", "BackForwardCache"
"""Chromium's option against features, and the feature that keeps a left page in memory.

With that feature, Chromium goes on publishing the elements of the left page in place of those of the new one.
"""
CHROMIUM = re.compile(
    r"chromium(-browser)?|(google-)?chrome(-(stable|beta|dev|unstable))?|microsoft-edge(-\w+)?|msedge|brave(-browser)?"
    r"|vivaldi(-\w+)?|opera|electron\d*"
)
SETTINGS = f"""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <keep_umask/>
%(listen)s
  <auth>EXTERNAL</auth>
  <servicedir>%(services)s</servicedir>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
    <allow own="*"/>%(more)s
  </policy>
  <limit name="max_message_size">{LARGEST_MESSAGE}</limit>
  <limit name="max_incoming_bytes">{2 * LARGEST_MESSAGE}</limit>
  <limit name="max_outgoing_bytes">{4 * LARGEST_MESSAGE}</limit>
  <limit name="max_replies_per_connection">50000</limit>
  <limit name="max_connections_per_user">256</limit>
  <limit name="max_completed_connections">256</limit>
</busconfig>
"""
DENY_ENVIRONMENT_UPDATES = """
    <deny send_interface="org.freedesktop.DBus" send_member="UpdateActivationEnvironment"/>"""
"""Rule of the bus that refuses variables from programs for the services that it starts. A program in a sandbox, or of
another user, could otherwise make the registry load a library outside.
"""
ONLY_TWO_USERS = """
    <deny user="*"/>
    <allow user="%s"/>
    <allow user="%s"/>"""
"""Allows two users only: the last rule that matches a user decides."""
AS_USER = "setpriv"
REGISTRY_VARIABLES = ("PATH", "LANG", "HOLO_DESKTOP")
"""Variables of our environment for a registry that runs as another user. HOLO_DESKTOP marks the desktop's processes."""


@dataclass(frozen=True, slots=True)
class OtherBusUser:
    """The user of the option `run_as` on a bus, and the folder with the socket for that user's programs."""

    uid: int
    gid: int
    folder: Path

    @property
    def socket(self) -> Path:
        return self.folder / "bus"

    def unavailable_reason(self) -> str:
        """Return why programs of this user cannot use a bus; empty if they can."""
        try:
            pwd.getpwuid(self.uid)
        except KeyError:
            return f"D-Bus does not accept users without a name: make an entry for user {self.uid} (useradd)."
        return "" if shutil.which(AS_USER) else f"There is no {AS_USER} here: apt-get install util-linux"

    def run_as_user(self, command: str, env: Mapping[str, str]) -> str:
        """Return a command that runs ``command`` as this user, with this environment and without our capabilities."""
        given = shlex.join(f"{name}={text}" for name, text in env.items())
        rights = "--clear-groups --no-new-privs --inh-caps=-all --ambient-caps=-all"
        program = shutil.which(AS_USER)
        return f"/usr/bin/env -i {given} {program} --reuid={self.uid} --regid={self.gid} {rights} {command}"


@dataclass(frozen=True, slots=True)
class Bus:
    """A running bus. ``unavailable_reason`` is empty if programs can publish their elements on it.

    ``ready`` is the file descriptor on which the bus reports that it accepts connections. ``other_user`` is set if the
    programs run as another user.
    """

    process: subprocess.Popen[bytes] | None
    address: str
    ready: int
    unavailable_reason: str = ""
    other_user: OtherBusUser | None = None

    @property
    def address_for_programs(self) -> str:
        """The address at which programs reach the bus: the other user's socket if they run as that user."""
        return _address(self.other_user.socket) if self.other_user else self.address

    def environment(self) -> dict[str, str]:
        """Return the variables that make a program use this bus and publish its elements there."""
        if self.process is None:
            return {}
        address = self.address_for_programs
        on = {"DBUS_SESSION_BUS_ADDRESS": address}
        # With AT_SPI_BUS_ADDRESS Qt 6.4 would publish nothing. A property of the X server has the address as well.
        telling = {
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
            "GNOME_ACCESSIBILITY": "1",  # Firefox
        }
        return on if self.unavailable_reason else on | telling


def with_accessibility(command: Sequence[str], place: int = 0) -> list[str]:
    """Return a Chromium-based program's command with the options to publish its pages, unless it has them already.

    ``place`` is the index of the program in the command. Of several options against features the last one counts.
    """
    options = list(command[place + 1 :])
    off = next((n for n in reversed(range(len(options))) if options[n].startswith(FEATURES_OFF)), None)
    if off is None:
        options.insert(0, FEATURES_OFF + KEPT_PAGES)
    elif KEPT_PAGES not in options[off].removeprefix(FEATURES_OFF).split(","):
        options[off] += f",{KEPT_PAGES}"
    if not any(each.startswith(PUBLISH_PAGES_OPTION) for each in options):
        options.insert(0, PUBLISH_PAGES_OPTION)
    return [*command[: place + 1], *options]


def launch(
    folder: Path,
    env: Mapping[str, str],
    start: Callable[..., subprocess.Popen[bytes]],
    *,
    sandboxed: bool = False,
    other_user: OtherBusUser | None = None,
) -> Bus:
    """Start a bus whose socket is in ``folder``; `await_bus` waits for it.

    ``start`` takes the arguments of `subprocess.Popen`. ``sandboxed`` is true if the desktop's program runs in a
    sandbox. Such a program, and programs of ``other_user``, cannot set variables for the registry. If the bus cannot be
    started, ``unavailable_reason`` of the result gives the reason.
    """
    program, registry = shutil.which(PROGRAM), registry_program()
    path = folder / "bus"
    if program is None:
        return Bus(None, "", -1, f"There is no {PROGRAM} here: apt-get install {PACKAGES}")
    if other_user is not None and (why_not := other_user.unavailable_reason()):
        return Bus(None, "", -1, why_not)
    if len(os.fsencode(path)) > LONGEST_PATH:
        return Bus(None, "", -1, f"The path {path} is too long for a socket: set TMPDIR to a shorter one.")
    address = _address(path)
    addresses = [address] if other_user is None else [address, _address(other_user.socket)]
    # Without a display the registry grabs no keys; the memory backend stores no settings.
    given = {name: text for name, text in env.items() if name != "DISPLAY"}
    own = {"AT_SPI_BUS_ADDRESS": addresses[-1], "XDG_RUNTIME_DIR": str(folder), "GSETTINGS_BACKEND": "memory"}
    if other_user is not None:
        other_user.folder.mkdir(mode=0o700)
        own |= {
            "XDG_RUNTIME_DIR": str(other_user.folder),
            **{name: env[name] for name in REGISTRY_VARIABLES if name in env},
        }
        registry = registry and other_user.run_as_user(registry, own)
    services = folder / "services"
    services.mkdir(mode=0o700)
    if registry:
        (services / f"{REGISTRY}.service").write_text(f"[D-BUS Service]\nName={REGISTRY}\nExec={registry}\n")
    settings = folder / "bus.conf"
    more = (DENY_ENVIRONMENT_UPDATES if sandboxed or other_user else "") + (
        ONLY_TWO_USERS % (os.geteuid(), other_user.uid) if other_user else ""
    )
    listen = "\n".join(f"  <listen>{each}</listen>" for each in addresses)
    settings.write_text(SETTINGS % {"listen": listen, "services": _as_markup(str(services)), "more": more})
    given |= own
    ready, tell = os.pipe()
    options = [f"--config-file={settings}", "--nofork", "--nopidfile", "--nosyslog", f"--print-address={tell}"]
    try:
        with (folder / "bus.log").open("wb") as log:
            process = start(
                [program, *options],
                env=given,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(tell,),
            )
    except OSError as error:
        os.close(ready)
        return Bus(None, "", -1, f"{program} cannot be started: {error.strerror}.")
    finally:
        os.close(tell)
    why_not = "" if registry else f"AT-SPI is not installed here: apt-get install {PACKAGES}"
    return Bus(process, address, ready, why_not, other_user)


def await_bus(bus: Bus) -> Bus:
    """Wait until the bus accepts connections, and return it.

    If it does not start, return a bus without a process, whose ``unavailable_reason`` gives the reason.
    """
    if bus.process is None:
        return bus
    try:
        said = select.select([bus.ready], [], [], PATIENCE_S)[0] and os.read(bus.ready, 4096)
    finally:
        os.close(bus.ready)
    try:
        if said:
            _give_socket(bus.other_user)
            return bus
        why_not = f"{PROGRAM} does not start: its log, bus.log, says why."
    except OSError as error:
        why_not = f"The bus cannot be opened to the program's user: {error.strerror}."
    bus.process.kill()
    bus.process.wait()
    return Bus(None, "", -1, why_not)


def _give_socket(other_user: OtherBusUser | None) -> None:
    """Make the other user the owner of their socket, in a folder that they may enter but that stays ours."""
    if other_user is not None:
        other_user.socket.chmod(0o600)
        os.chown(other_user.socket, other_user.uid, other_user.gid)
        os.chown(other_user.folder, -1, other_user.gid)
        other_user.folder.chmod(0o710)


def registry_program() -> str:
    """Return the path of AT-SPI's registry; empty if it is not installed."""
    reported = SERVICES / f"{REGISTRY}.service"
    named = re.findall(r"^Exec=(\S+)", reported.read_text(errors="replace"), re.MULTILINE) if reported.is_file() else []
    return next((path for path in (*named, *USUAL_REGISTRIES) if os.access(path, os.X_OK)), "")


def is_registry(pid: int) -> bool:
    """Return whether a process is an AT-SPI registry. The bus starts it, but is not its parent."""
    program = registry_program()
    try:
        return bool(program) and os.path.samefile(f"/proc/{pid}/exe", program)  # noqa: PTH121  # /proc/…/exe is a link
    except OSError:
        return False


def _address(path: Path) -> str:
    return f"unix:path={_escaped(path)}"


def _escaped(path: Path) -> str:
    """Return a path with the escapes of D-Bus addresses."""
    plain = b"-_/.\\*0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "".join(chr(byte) if byte in plain else f"%{byte:02x}" for byte in os.fsencode(path))


def _as_markup(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
