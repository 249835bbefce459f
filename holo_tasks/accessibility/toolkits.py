"""Recognize the toolkits of programs, set the variables that they need, and name the packages that they lack.

`variables` is the main function for a program that is started, `why_no_elements` for one that runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from holo_tasks.machine.proc import process, stat_of

LIBRARIES = Path("/usr/lib") / f"{os.uname().machine}-linux-gnu"
WRAPPER, ITS_LIBRARY = Path("/usr/share/java/java-atk-wrapper.jar"), LIBRARIES / "jni/libatk-wrapper.so"
XPROP = Path("/usr/bin/xprop")
"""The program with which Java's wrapper looks for the accessibility bus."""
GAIL, GTK2_BRIDGE = (LIBRARIES / f"gtk-2.0/modules/lib{name}.so" for name in ("gail", "atk-bridge"))
FOR_JAVA, FOR_GTK2, FOR_OFFICE = "libatk-wrapper-java-jni", "libgail-common libatk-adaptor", "libreoffice-gtk3"
CHOICE = "javax.accessibility.assistive_technologies"
JAVA_OPTIONS = (
    f"-Xbootclasspath/a:{WRAPPER} -Dsun.boot.library.path={ITS_LIBRARY.parent} "
    f"-D{CHOICE}=org.GNOME.Accessibility.AtkWrapper"
)
"""The class path of the boot loader is the only one that no program replaces by its own."""
GTK2_MODULES = "gail:atk-bridge"
ELSEWHERE = {"flatpak", "snap", "docker", "podman", "distrobox", "toolbox"}
"""Commands that start a program with other files. A Java program without the named class does not start."""
NO_TREE = "it has no accessibility tree; its text is read by OCR"
OFF = "it is a {} program that was started without accessibility; start it as the program of a desktop"
_TOOLKITS = (
    ("LibreOffice", r"libvclplug_genlo"),
    ("JavaFX", r"libglass\w*|libjavafx_\w+"),
    ("Java", r"libjvm"),
    ("GTK 2", r"libgtk-x11-2\.0"),
    ("GTK 3", r"libgtk-3"),
    ("GTK 4", r"libgtk-4"),
    ("Qt 5", r"libQt5Gui"),
    ("Qt 6", r"libQt6Gui"),
    ("Tk", r"lib(?:tcl)?tk\d[\d.]*"),
)
_LOADED = tuple((name, re.compile(rf"/{pattern}\.so".encode())) for name, pattern in _TOOLKITS)


def variables(command: Sequence[str], environment: Mapping[str, str], added: Collection[str]) -> dict[str, str]:
    """Return the variables with which Java and GTK 2 publish their elements, if their packages are installed.

    ``environment`` is the program's environment. Its Java options and GTK modules are kept; a different choice of
    Java's accessibility class wins. ``added`` has the names of variables that the user set for this program. An empty
    one of these stays empty. Nothing is returned if ``environment`` has NO_AT_BRIDGE, or for a command in `ELSEWHERE`.
    """
    found: dict[str, str] = {}
    if environment.get("NO_AT_BRIDGE") or has_other_files(command):
        return found
    java = environment.get("JAVA_TOOL_OPTIONS", "")
    if has_java_wrapper() and CHOICE not in java:
        found["JAVA_TOOL_OPTIONS"] = f"{JAVA_OPTIONS} {java}".rstrip()
    modules = environment.get("GTK_MODULES", "")
    if has_gtk2_modules() and "atk-bridge" not in modules:
        found["GTK_MODULES"] = f"{modules}:{GTK2_MODULES}".lstrip(":")
    return {name: text for name, text in found.items() if environment.get(name) or name not in added}


def has_other_files(command: Sequence[str]) -> bool:
    """Return whether a command starts its program with other files than those of this machine, as flatpak does."""
    return bool(ELSEWHERE.intersection(Path(word).name for word in command[:1]))


def why_no_elements(pid: int) -> str:
    """Return why a running program publishes no elements, and a remedy if there is one."""
    try:
        started = stat_of(process(pid))[19]
        return _why_no_elements(pid, started)
    except (OSError, IndexError):  # it has ended, or belongs to another user
        return NO_TREE


def missing_package(pid: int) -> str:
    """Return the advice to install a package for a running program, or an empty string if it needs none."""
    said = why_no_elements(pid)
    return said if "; install " in said else ""


def toolkit_of(pid: int) -> str:
    """Return the toolkit whose library a process has loaded; empty for an unknown toolkit."""
    maps = (process(pid) / "maps").read_bytes()
    return next((name for name, pattern in _LOADED if pattern.search(maps)), "")


@lru_cache(maxsize=256)
def _why_no_elements(pid: int, started: str) -> str:
    """``started`` tells the process from a later one with the same number."""
    toolkit = toolkit_of(pid)
    match toolkit:
        case "Java" if not has_java_wrapper():
            return f"it is a Java program; install {FOR_JAVA} so that its elements can be read"
        case "GTK 2" if not has_gtk2_modules():
            return f"it is a GTK 2 program; install {FOR_GTK2} so that its elements can be read"
        case "LibreOffice":
            return (
                f"it is LibreOffice without its GTK 3 interface; install {FOR_OFFICE} so that its elements can be read"
            )
        case "Tk" | "JavaFX":
            return f"it is a {toolkit} program, which has no accessibility tree on Linux; its text is read by OCR"
        case "":
            return NO_TREE
    return OFF.format(toolkit)


def has_java_wrapper() -> bool:
    return WRAPPER.exists() and ITS_LIBRARY.exists() and XPROP.exists()


def has_gtk2_modules() -> bool:
    return GAIL.exists() and GTK2_BRIDGE.exists()
