"""The environment of processes that this one starts: the variables that they need, by name, and no others.

Anyone who controls a program can have its variables shown, and every process of the same user can read them. So the
module lists the variables that may be passed on, and not the forbidden ones: keys for models, money, code and storage
can have any name.

A person who starts a program from their own command line expects it to get the variables that they set for it. APP_LOG
and PORT are examples, and no list has them. So such a program also gets variables of other names, if neither name nor
value looks like a key or a login. That is a guess. It is good enough for a person's own shell, whose variables they
could see anyway. It is not good enough for a worker's flows, whose environment is not meant for programs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from holo_tasks.desktop.secrets.secret_variables import (
    OTHER_SERVICES,
    SERVICES,
    has_private_name,
    looks_private,
    looks_secret,
)


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


Inherits = Literal["needed", "plain"]
"""The variables that a program inherits: those that any program needs, or also those that look like no key and no
login.
"""

PASSED_ON = "HOLO_PROGRAM_ENV"
"""The variable with the names, separated by commas, of other variables that programs on a desktop get unchanged."""

# Ways around the X display: to the person's own session, and to input methods, which would change typed text.
OTHER_SESSION = (
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",  # holds the socket of the session's bus and other sockets
    "SESSION_MANAGER",
    "DESKTOP_STARTUP_ID",
    "XDG_ACTIVATION_TOKEN",
    "XDG_SESSION_ID",
    "XDG_SESSION_PATH",
    "XDG_SEAT_PATH",
    "GTK_IM_MODULE",
    "QT_IM_MODULE",
)
ON_X11 = {"XDG_SESSION_TYPE": "x11", "GDK_BACKEND": "x11", "QT_QPA_PLATFORM": "xcb", "XMODIFIERS": "@im=none"}

NEEDED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "TMPDIR",
    "XAUTHORITY",
    "LD_LIBRARY_PATH",
    "DISPLAY",
)
NEEDED_PREFIXES = ("LC_", "XDG_")
"""These variables are passed on even if they contain a secret's value: no program does without them, and such a match
is accidental.
"""

USUAL = _names(
    # Locations of programs and their parts, and settings of their looks and their drawing.
    "BROWSER CLASSPATH COLORTERM CONDA_PREFIX DESKTOP_SESSION EDITOR FREETYPE_PROPERTIES HOSTNAME INFOPATH JAVA_HOME "
    "JDK_HOME JRE_HOME LD_PRELOAD LOCPATH LUA_CPATH LUA_PATH MANPATH NLSPATH NODE_EXTRA_CA_CERTS NODE_PATH "
    "NO_AT_BRIDGE NO_COLOR OLDPWD PAGER PERL5LIB PERLLIB R_HOME R_LIBS RUBYLIB SHLVL TCLLIBPATH TEMP TMP UNO_PATH "
    "URE_BOOTSTRAP VDPAU_DRIVER VIRTUAL_ENV VISUAL _JAVA_AWT_WM_NONREPARENTING JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS "
    "_JAVA_OPTIONS CURL_CA_BUNDLE REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE TESSDATA_PREFIX "
    # Without these a browser behind a proxy shows no page.
    "ALL_PROXY FTP_PROXY HTTPS_PROXY HTTP_PROXY NO_PROXY all_proxy ftp_proxy http_proxy https_proxy no_proxy "
    # A folder that other users cannot read. It shows in a list of processes which run a process belongs to.
    "HOLO_HOME"
)
USUAL_PREFIXES = _names(
    "CHROME_ CHROMIUM_ CLUTTER_ EGL_ ELECTRON_ FC_ FONTCONFIG_ GALLIUM_ GCONV_ GDK_ GEM_ GI_ GIO_ GLIBC_ GSETTINGS_ "
    "GST_ GTK GTK_ JAVA_ KDE_ LIBGL_ LIBVA_ LP_ MALLOC_ MESA_ MOZ_ OMP_ OOO_ PANGO_ PULSE_ PYTHON QML QT_ SAL_ SDL_ "
    "TCL_ TK_ WINE XAPPLRESDIR XCURSOR_ XENVIRONMENT XFILESEARCHPATH XKB_ XLIB_ XUSERFILESEARCHPATH"
)

NOT_FOR_PROGRAMS = (*OTHER_SESSION, "HOLO_", *SERVICES, *OTHER_SERVICES)
"""Prefixes of names that people do not set for programs on a desktop."""
LONG = 4
"""Least length of a value that is looked for inside other values. A shorter one is part of many harmless variables."""


def for_ours(environ: Mapping[str, str], values: Collection[str] = ()) -> dict[str, str]:
    """Return the environment for the library's own processes: the X server, the window manager and the host.

    No variable contains one of ``values``, apart from those in `NEEDED`.
    """
    return _on_a_display(variables_to_pass(environ, values))


def for_programs(
    environ: Mapping[str, str], added: Mapping[str, str], values: Collection[str] = (), *, inherits: Inherits = "needed"
) -> dict[str, str]:
    """Return the environment for a program on a desktop.

    The variables in ``added`` and those that HOLO_PROGRAM_ENV names are passed on unchanged. Of the others, no variable
    contains one of ``values``, apart from those in `NEEDED`. With "plain", variables that look like no key and no login
    are included.
    """
    kept = variables_to_pass(environ, values)
    if inherits == "plain":
        others = {
            name: text for name, text in environ.items() if name not in OTHER_SESSION and not looks_private(name, text)
        }
        kept = harmless(others, values) | kept
    asked = {name.strip() for name in environ.get(PASSED_ON, "").split(",")}
    return {**_on_a_display(kept), **{name: text for name, text in environ.items() if name in asked}, **added}


def withheld_names(environ: Mapping[str, str], values: Collection[str] = ()) -> list[str]:
    """Return the names of variables that a person's own program does not get because they look private.

    Variables for other work, such as a cloud's keys or a package registry's, are not named: they were not set for the
    program.
    """
    given = for_programs(environ, {}, values, inherits="plain")
    return sorted(name for name in environ if name not in given and not name.startswith(NOT_FOR_PROGRAMS))


def variables_to_pass(environ: Mapping[str, str], values: Collection[str] = ()) -> dict[str, str]:
    """Return the listed variables, without those that contain one of these values or look secret."""
    known = {name: text for name, text in environ.items() if name not in OTHER_SESSION and _is_known(name, text)}
    return harmless(known, values)


def harmless(env: Mapping[str, str], values: Collection[str]) -> dict[str, str]:
    """Return the variables that contain none of these values, because every process of the same user can read them."""
    return {
        name: text
        for name, text in env.items()
        if name in NEEDED or name.startswith(NEEDED_PREFIXES) or not any(_holds(text, value) for value in values)
    }


def _is_known(name: str, text: str) -> bool:
    if name in NEEDED or name.startswith(NEEDED_PREFIXES):
        return True
    listed = name in USUAL or (name.startswith(USUAL_PREFIXES) and not has_private_name(name))
    return listed and not looks_secret(text)


def _on_a_display(env: dict[str, str]) -> dict[str, str]:
    env |= ON_X11
    if not any("utf" in env.get(name, "").lower() for name in ("LC_ALL", "LC_CTYPE", "LANG")):
        # In the C locale Xlib drops keys beyond Latin-1.
        env.pop("LC_ALL", None)
        env["LC_CTYPE"] = "C.UTF-8"
    return env


def _holds(text: str, value: str) -> bool:
    return value == text or (len(value) >= LONG and value in text)
