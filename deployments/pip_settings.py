"""Write the settings of this machine's pip to a file, so that the build of an image can use them.

Usage: pip_settings.py INSIDE FILE, where INSIDE is the path at which the build sees the folders of this machine.
Prints a line for each folder of packages or of an index: its path here, a tab, and its path inside.
"""

from __future__ import annotations

import ast
import configparser
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import pathname2url

FOLDERS = {"find-links", "index-url", "extra-index-url"}
LEFT_OUT = {"python", "require-virtualenv", "cache-dir", "target", "user", "break-system-packages"} | {
    *("constraint", "build-constraint", "requirement", "editable", "log", "report", "prefix", "root", "src")
}
"""Settings for this machine only. The image needs no constraints, because digests pin its packages."""


def main(inside: str, file: str) -> None:
    """Write the file, and say which folders it speaks of."""
    seen: dict[str, str] = {}
    written = configparser.RawConfigParser()
    written["global"] = {}
    for name, value in settings().items():
        if name == "cert":
            value = f"{inside}/host/certificates.crt"
        elif name in FOLDERS:
            value = "\n".join(moved(word, inside, seen) for word in value.split())
        written["global"][name] = value
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        written.write(stream)
    for folder, place in seen.items():
        print(folder, place, sep="\t")


def settings() -> dict[str, str]:
    """Return pip's settings of this machine, its files' and its environment's, the later ones before the earlier."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    found: dict[str, str] = {}
    for line in sorted(listed.stdout.splitlines(), key=lambda line: line.startswith(":env:")):
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in ("global", "install", ":env:") and key not in LEFT_OUT:
            found[key] = str(ast.literal_eval(value))
    return found


def moved(word: str, inside: str, seen: dict[str, str]) -> str:
    """Return the address inside the build. An index links to files in its parent folder, which is mounted."""
    is_url = word.startswith("file:")
    path = Path(unquote(urlsplit(word).path) if is_url else word)
    if not path.is_absolute() or not path.exists():
        return word
    shown = path.parent if is_url and len(path.parts) > 2 else path
    place = seen.setdefault(str(shown), f"{inside}/pip-{len(seen)}")
    moved_to = place if path == shown else f"{place}/{path.name}"
    return f"file://{pathname2url(moved_to)}" if is_url else moved_to


if __name__ == "__main__":
    main(*sys.argv[1:])
