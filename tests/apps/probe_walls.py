"""Try to break out of an isolated desktop in each way of the argument, and write the results as JSON.

Usage: probe_walls.py RESULTS.json '{"name": ["kind", ...], ...}'
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

PTRACE_ATTACH = 16
LIBC = ctypes.CDLL(None, use_errno=True)


def connects(family, address):
    with socket.socket(getattr(socket, family)) as made:
        made.settimeout(20)
        made.connect(tuple(address) if isinstance(address, list) else address)
        return "connected"


def fetches(host, port):
    with socket.create_connection((host, port), 20) as made:
        made.sendall(b"ask")
        made.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: made.recv(100), b"")).decode()


def reads(path):
    return Path(path).read_bytes()[:20].decode(errors="replace")


def lists(path):
    return sorted(each.name for each in Path(path).iterdir())


def writes(path):
    Path(path).write_text("written")
    return "written"


def kills(pid):
    os.kill(pid, signal.SIGKILL)
    return "killed"


def traces(pid):
    if LIBC.ptrace(PTRACE_ATTACH, pid, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "traced"


def attaches(segment):
    if LIBC.shmat(segment, None, 0) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "attached"


def calls(number):
    if LIBC.syscall(number, 0, 0, 0, 0) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "called"


def runs(*command):
    ran = subprocess.run(command, capture_output=True, text=True, timeout=50)
    if ran.returncode:
        raise OSError(ran.returncode, ran.stderr)
    return ran.stdout


def kernel():
    """Return the files of the kernel below /proc that can be opened for writing, without those of processes."""
    found = []
    for folder, folders, files in os.walk("/proc"):
        if folder == "/proc":
            folders[:] = [each for each in folders if not each.isdigit() and each not in ("self", "thread-self", "net")]
        for each in files:
            with contextlib.suppress(OSError):
                os.close(os.open(Path(folder, each), os.O_WRONLY))
                found.append(f"{folder}/{each}")
    return found


def status():
    told = (line.partition(":") for line in Path("/proc/self/status").read_text().splitlines())
    return {name: value.strip() for name, _, value in told}


KINDS = {
    each.__name__: each for each in (connects, fetches, reads, lists, writes, kills, traces, attaches, calls, runs)
}
KINDS |= {"kernel": kernel, "status": status}


def main():
    came_of_it = {}
    for name, (kind, *arguments) in json.loads(sys.argv[2]).items():
        try:
            came_of_it[name] = KINDS[kind](*arguments)
        except OSError as error:
            came_of_it[name] = f"refused: {error}"
    draft = Path(sys.argv[1] + ".draft")
    draft.write_text(json.dumps(came_of_it))
    draft.rename(sys.argv[1])


main()
