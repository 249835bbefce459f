"""`holo-tasks --version`: the versions that a bug report needs. Nothing slow is imported."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version

from holo_tasks.core.version import __version__

PACKAGES = (
    "prefect",
    "openai",
    "pydantic",
    "sqlalchemy",
    "pillow",
    "mss",
    "rapidocr",
    "onnxruntime",
    "openpyxl",
    "mcp",
    "boto3",
)
PROGRAMS = {
    "X server": ("Xvfb", ("dpkg-query", "--show", "xvfb")),  # Xvfb cannot print its version
    "window manager": ("openbox", ("openbox", "--version")),
    "VNC server": ("x0tigervncserver", ("x0tigervncserver", "-version")),
    "sandbox": ("bwrap", ("bwrap", "--version")),
}
"""Programs that the library starts, each with the command that prints its version."""


def versions() -> str:
    """Return one line for each part: its name and its version, or that it is not installed."""
    return "\n".join(f"{name:<16} {found}" for name, found in _parts())


def _parts() -> Iterator[tuple[str, str]]:
    yield "holo-tasks", __version__
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})"
    for package in PACKAGES:
        yield package, _package_version(package)
    yield "system", f"{_system()}, kernel {platform.release()}, {platform.machine()}"
    for name, (program, command) in PROGRAMS.items():
        yield name, _program_version(program, command)


def _package_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _program_version(program: str, command: Sequence[str]) -> str:
    """Return the first line with a digit that ``command`` prints."""
    if shutil.which(program) is None:
        return "not installed"
    unknown = f"{program}, version unknown"
    try:
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return unknown
    lines = ran.stdout.decode(errors="replace").splitlines() if ran.returncode == 0 else []
    return next((" ".join(line.split()) for line in lines if any(sign.isdigit() for sign in line)), unknown)
