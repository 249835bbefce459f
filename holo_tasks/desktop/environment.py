"""The environment that programs on a desktop get."""

from __future__ import annotations

from collections.abc import Mapping

# Keys to models, money and storage: a program on the screen has no use for them, and whoever
# drives it could have them shown.
WITHHELD = ("HAI_API_KEY", "HOLO_API_KEY", "OPENAI_API_KEY", "HOLO_SIGNING_KEY", "HOLO_SIGNING_KEY_FILE")
WITHHELD_PREFIXES = ("AWS_", "PREFECT_")

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


def for_programs(ours: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Return our environment less what is private or leads elsewhere, plus what was asked for."""
    env = {
        name: value
        for name, value in ours.items()
        if name not in WITHHELD and name not in OTHER_SESSION and not name.startswith(WITHHELD_PREFIXES)
    }
    env |= ON_X11
    if not any("utf" in env.get(name, "").lower() for name in ("LC_ALL", "LC_CTYPE", "LANG")):
        # In the C locale Xlib turns keys beyond Latin-1 into nothing.
        env.pop("LC_ALL", None)
        env["LC_CTYPE"] = "C.UTF-8"
    return {**env, **added}
