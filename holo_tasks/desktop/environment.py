"""The environment that processes get which this one starts: what they need, by name, and nothing else of ours.

Whoever drives a program can have its variables shown, and every process of the same user can read them. So there is a
list of what may be passed on, not one of what may not: keys to models, money, code and storage have any name.

A person who starts a program from their own command line means it to have what they set for it (APP_LOG, PORT), of
which no list knows. There a variable of another name is passed on, too, if neither its name nor its value looks like a
key or a login. That is a guess, which is good enough for what the person could see in their own shell, and not for a
worker's flows, whose environment is not for the programs on their desktops.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from holo_tasks.desktop.secret_variables import OTHER_SERVICES, SERVICES, is_telling, looks_secret, sounds_telling


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


Inherits = Literal["needed", "plain"]
"""What a program gets of our environment: what any needs, or also what is plainly no key and no login."""

PASSED_ON = "HOLO_PROGRAM_ENV"
"""The variable that names others, with commas, which programs on a desktop get as they are."""

# Ways around the X display: to the person's own session, and to input methods, which would
# change what is typed.
OTHER_SESSION = (
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",  # where the session's bus is found without its address, and other sockets
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
"""What no program does without: that a value is a part of it says nothing, and who has the account knows it."""

USUAL = _names(
    # What programs find themselves and their parts by, and how they are told how to look and to draw.
    "BROWSER CLASSPATH COLORTERM CONDA_PREFIX DESKTOP_SESSION EDITOR FREETYPE_PROPERTIES HOSTNAME INFOPATH JAVA_HOME "
    "JDK_HOME JRE_HOME LD_PRELOAD LOCPATH LUA_CPATH LUA_PATH MANPATH NLSPATH NODE_EXTRA_CA_CERTS NODE_PATH "
    "NO_AT_BRIDGE NO_COLOR OLDPWD PAGER PERL5LIB PERLLIB R_HOME R_LIBS RUBYLIB SHLVL TCLLIBPATH TEMP TMP UNO_PATH "
    "URE_BOOTSTRAP VDPAU_DRIVER VIRTUAL_ENV VISUAL _JAVA_AWT_WM_NONREPARENTING JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS "
    "_JAVA_OPTIONS CURL_CA_BUNDLE REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE TESSDATA_PREFIX "
    # Without them a machine behind a proxy shows no page.
    "ALL_PROXY FTP_PROXY HTTPS_PROXY HTTP_PROXY NO_PROXY all_proxy ftp_proxy http_proxy https_proxy no_proxy "
    # A folder that is closed to others; by it whoever looks through the processes knows whose run one belongs to.
    "HOLO_HOME"
)
USUAL_PREFIXES = _names(
    "CHROME_ CHROMIUM_ CLUTTER_ EGL_ ELECTRON_ FC_ FONTCONFIG_ GALLIUM_ GCONV_ GDK_ GEM_ GI_ GIO_ GLIBC_ GSETTINGS_ "
    "GST_ GTK GTK_ JAVA_ KDE_ LIBGL_ LIBVA_ LP_ MALLOC_ MESA_ MOZ_ OMP_ OOO_ PANGO_ PULSE_ PYTHON QML QT_ SAL_ SDL_ "
    "TCL_ TK_ WINE XAPPLRESDIR XCURSOR_ XENVIRONMENT XFILESEARCHPATH XKB_ XLIB_ XUSERFILESEARCHPATH"
)

NOT_FOR_PROGRAMS = (*OTHER_SESSION, "HOLO_", *SERVICES, *OTHER_SERVICES)
"""How names begin that nobody sets for a program on a desktop."""
LONG = 4
"""A shorter value is part of many a harmless variable."""


def for_ours(ours: Mapping[str, str], values: Collection[str] = ()) -> dict[str, str]:
    """Return what processes of our own need of our environment: the X server, the window manager, the host.

    None of it holds one of ``values``, whatever it is called.
    """
    return _on_a_display(needed(ours, values))


def for_programs(
    ours: Mapping[str, str], added: Mapping[str, str], values: Collection[str] = (), *, inherits: Inherits = "needed"
) -> dict[str, str]:
    """Return what a program on a desktop gets: what it needs of our environment, and what was asked for.

    What is ``added``, and what HOLO_PROGRAM_ENV names, is passed on as it is. Of the rest no variable holds one of
    ``values``, whatever it is called; with "plain" there are also those that look like no key and no login.
    """
    kept = needed(ours, values)
    if inherits == "plain":
        others = {name: text for name, text in ours.items() if name not in OTHER_SESSION and not is_telling(name, text)}
        kept = harmless(others, values) | kept
    asked = {name.strip() for name in ours.get(PASSED_ON, "").split(",")}
    return {**_on_a_display(kept), **{name: text for name, text in ours.items() if name in asked}, **added}


def kept_back(ours: Mapping[str, str], values: Collection[str] = ()) -> list[str]:
    """Name what a person's own program does not get, although they may have set it for that: it looks private.

    What stands in many a shell for other work, a cloud's keys or a package registry's, is not named: nobody meant it.
    """
    given = for_programs(ours, {}, values, inherits="plain")
    return sorted(name for name in ours if name not in given and not name.startswith(NOT_FOR_PROGRAMS))


def needed(ours: Mapping[str, str], values: Collection[str] = ()) -> dict[str, str]:
    """Return the variables of the list, less those with one of these values or a login in them."""
    known = {name: text for name, text in ours.items() if name not in OTHER_SESSION and _is_known(name, text)}
    return harmless(known, values)


def harmless(env: Mapping[str, str], values: Collection[str]) -> dict[str, str]:
    """Return the variables that hold none of these values: every process of the same user can read them."""
    return {
        name: text
        for name, text in env.items()
        if name in NEEDED or name.startswith(NEEDED_PREFIXES) or not any(_holds(text, value) for value in values)
    }


def _is_known(name: str, text: str) -> bool:
    if name in NEEDED or name.startswith(NEEDED_PREFIXES):
        return True
    listed = name in USUAL or (name.startswith(USUAL_PREFIXES) and not sounds_telling(name))
    return listed and not looks_secret(text)


def _on_a_display(env: dict[str, str]) -> dict[str, str]:
    env |= ON_X11
    if not any("utf" in env.get(name, "").lower() for name in ("LC_ALL", "LC_CTYPE", "LANG")):
        # In the C locale Xlib turns keys beyond Latin-1 into nothing.
        env.pop("LC_ALL", None)
        env["LC_CTYPE"] = "C.UTF-8"
    return env


def _holds(text: str, value: str) -> bool:
    return value == text or (len(value) >= LONG and value in text)
