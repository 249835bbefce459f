"""The environment that programs on a desktop get."""

from __future__ import annotations

from collections.abc import Collection, Mapping

# Keys to models, money and storage: a program on the screen has no use for them, and whoever
# drives it could have them shown.
WITHHELD = (
    "HAI_API_KEY",
    "HOLO_API_KEY",
    "OPENAI_API_KEY",
    "HOLO_SIGNING_KEY",
    "HOLO_SIGNING_KEY_FILE",
    "HOLO_DATABASE_URL",
)
WITHHELD_PREFIXES = ("AWS_", "PREFECT_", "HOLO_SECRET_")

# Ways around the X display: to the person's own session, and to input methods, which would
# change what is typed.
OTHER_SESSION = (
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "SESSION_MANAGER",
    "DESKTOP_STARTUP_ID",
    "XDG_ACTIVATION_TOKEN",
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
    "TMPDIR",
    "XAUTHORITY",
    "LD_LIBRARY_PATH",
    "DISPLAY",
)
NEEDED_PREFIXES = ("LC_", "XDG_")
"""What no program does without: that a value is a part of it says nothing, and who has the account knows it."""

LONG = 4
"""A shorter value is part of many a harmless variable."""


def for_programs(ours: Mapping[str, str], added: Mapping[str, str], values: Collection[str] = ()) -> dict[str, str]:
    """Return our environment less what is private or leads elsewhere, plus what was asked for.

    Of ours, variables that hold one of ``values`` are left out, too, whatever they are called.
    """
    env = {
        name: value
        for name, value in harmless(ours, values).items()
        if name not in OTHER_SESSION and not withheld(name)
    }
    env |= ON_X11
    if not any("utf" in env.get(name, "").lower() for name in ("LC_ALL", "LC_CTYPE", "LANG")):
        # In the C locale Xlib turns keys beyond Latin-1 into nothing.
        env.pop("LC_ALL", None)
        env["LC_CTYPE"] = "C.UTF-8"
    return {**env, **added}


def withheld(name: str) -> bool:
    """Say whether a variable is for this process alone."""
    return name in WITHHELD or name.startswith(WITHHELD_PREFIXES)


def harmless(env: Mapping[str, str], values: Collection[str]) -> dict[str, str]:
    """Return the variables that hold none of these values: every process of the same user can read them."""
    return {
        name: text
        for name, text in env.items()
        if name in NEEDED or name.startswith(NEEDED_PREFIXES) or not any(_holds(text, value) for value in values)
    }


def _holds(text: str, value: str) -> bool:
    return value == text or (len(value) >= LONG and value in text)
