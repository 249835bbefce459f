"""The wheel in an environment of its own, as a user installs it: the checkout cannot be imported there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.command_line import PATIENCE_S, Ended

ROOT = Path(__file__).parent.parent.parent
OFFICE = ("openpyxl", "pypdf", "selectolax", "webencodings")
OCR = ("rapidocr",)
PASSED_ON = ("PATH", "LANG", "TMPDIR")


@dataclass(frozen=True)
class Installed:
    """A virtual environment with the wheel. ``home`` is the user's home folder, which is empty at first."""

    folder: Path
    home: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def __call__(self, cwd: Path, *command: str | Path, env: Mapping[str, str] | None = None) -> Ended:
        """Run a command of the environment, such as ``holo-tasks``, in a folder."""
        program = self.folder / "bin" / command[0]
        ran = subprocess.run(
            [program, *command[1:]],
            cwd=cwd,
            env={
                **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
                "HOME": str(self.home),
                **(env or {}),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        return Ended(ran.returncode, ran.stdout, ran.stderr)


def install(folder: Path, *, without: Sequence[str] = ()) -> Installed:
    """Build the wheel and install it. Its dependencies are those of this interpreter, except those ``without``."""
    uv = Path(sys.executable).with_name("uv")
    quiet = {"check": True, "capture_output": True}
    build = [uv, "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable]
    subprocess.run([*build, "--out-dir", folder / "dist", ROOT], **quiet)  # type: ignore[call-overload]
    (wheel,) = (folder / "dist").glob("*.whl")
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], **quiet)  # type: ignore[call-overload]
    into = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", environment / "bin" / "python"]
    subprocess.run([*into, wheel], **quiet)  # type: ignore[call-overload]
    dependencies = folder / "dependencies"
    dependencies.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if path.suffix != ".pth" and not path.name.startswith(("prefect_holo", *without)):
            (dependencies / path.name).symlink_to(path)
    (place,) = environment.glob("lib/python*/site-packages")
    (place / "dependencies.pth").write_text(f"{dependencies}\n")
    home = folder / "home"
    home.mkdir()
    return Installed(environment, home)
