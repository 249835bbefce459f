"""The main window of the legacy program: one panel at a time, with delays, tips and sessions that expire."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
import tkinter as tk
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from legacy_ledger_db import LedgerFile
from legacy_ledger_look import ERROR_INK, FIELD, INK, NAVY, Look

TITLE = "Meridian Ledger 4.2"
KEY_HINTS = "F1=Help   F2=Find   F3=Return   F9=Menu   F12=End"
TIPS = (
    "You can press F2 at any time to look for another posting.",
    "Back up your data files every Friday before you leave.",
    "Amounts are shown with two decimals in the currency of the card.",
    "Ask your supervisor for a new period before month-end.",
    "Did you know? The F9 key brings you to the menu from anywhere.",
)


@dataclass(frozen=True)
class Behavior:
    """The obstacles of the program. Zero switches one off."""

    seed: int = 0
    slow: tuple[float, float] = (0.1, 0.8)
    tip_after: int = 9
    session_actions: int = 60
    session_seconds: float = 900.0


@dataclass(frozen=True)
class Login:
    user: str
    password: str


class Panel(Protocol):
    """One screen. `parts` names the widgets for the state file. `shown` focuses the first field."""

    name: str
    heading: str
    code: str
    parts: dict[str, tk.Widget]

    def shown(self) -> None: ...
    def back(self) -> None: ...
    def values(self) -> dict[str, str]: ...


class Session:
    """Counts actions since sign-on and watches idle time."""

    def __init__(self, behavior: Behavior) -> None:
        self._behavior = behavior
        self._actions = 0
        self._last = time.monotonic()

    def use(self) -> bool:
        """Count one more action. Returns ``False`` if the session has expired."""
        now = time.monotonic()
        most, idle = self._behavior.session_actions, self._behavior.session_seconds
        if (most and self._actions >= most) or (idle and now - self._last > idle):
            return False
        self._actions += 1
        self._last = now
        return True


class LedgerWindow:
    def __init__(
        self,
        root: tk.Tk,
        ledger: LedgerFile,
        login: Login,
        look: Look,
        behavior: Behavior,
        state_file: Path | None,
    ) -> None:
        self.root, self.ledger, self.login, self.look = root, ledger, login, look
        self.session: Session | None = None
        self.panel: Panel | None = None
        self._behavior = behavior
        self._repaints = random.Random(behavior.seed)
        self._tips = random.Random(behavior.seed + 1)
        self._pending: str | None = None
        self._popup: Popup | None = None
        self._changes = 0
        self._state_file = state_file
        self._state_due: str | None = None
        self._build()

    # -- for panels -------------------------------------------------------------------

    def begin_action(self) -> bool:
        """Start a command. Returns ``False`` and shows the sign-on screen if the session has expired."""
        self.say("")
        if self.session is not None and self.session.use():
            return True
        self.session = None
        self.go(self.sign_on_panel, "M-090 Session expired")
        return False

    def begin_session(self) -> None:
        self.session = Session(self._behavior)

    def go(self, make: Callable[[], Panel], message: str = "", at_least: float = 0.0) -> None:
        """Change the panel after a delay. The program either hangs or works in the background.

        In both cases, clicks during the delay still reach the old panel. Of several changes, the last one wins.
        """
        if self._pending is not None:
            self.root.after_cancel(self._pending)
        low, high = self._behavior.slow
        seconds = self._repaints.uniform(low, high)
        hangs = self._repaints.random() < 0.5
        if high > 0:
            seconds = max(seconds, at_least)
        if hangs:
            self._write_state(busy=True)
            time.sleep(seconds)
            wait_ms = 20  # the clicks during the hang still reach the old panel
        else:
            self.root.configure(cursor="watch")
            if seconds > 0:
                self.say("Working...")
            wait_ms = round(seconds * 1000)
        self._pending = self.root.after(wait_ms, self._arrive, make, message)
        self._write_state()

    def say(self, message: str, error: bool = False) -> None:
        """Show a message in the status line. An error is only smaller and darker red."""
        font, ink = (self.look.small, ERROR_INK) if error else (self.look.font, INK)
        self._message.configure(text=message or "M-000 Ready", font=font, foreground=ink)
        self.note_state()

    def note_state(self, *_: object) -> None:
        """Write the state file when Tk is idle, because something visible has changed."""
        if self._state_file is not None and self._state_due is None:
            self._state_due = self.root.after_idle(self._write_state)

    sign_on_panel: Callable[[], Panel]
    menu_panel: Callable[[], Panel]
    search_panel: Callable[[], Panel]

    # -- the keys and menus of the frame -----------------------------------------------------

    def find(self) -> None:
        if self.begin_action():
            self.go(self.search_panel)

    def main_menu(self) -> None:
        if self.begin_action():
            self.go(self.menu_panel)

    def sign_off(self) -> None:
        self.session = None
        self.go(self.sign_on_panel, "M-010 Signed off")

    def help(self) -> None:
        self.say("M-001 See manual, section 4.3")

    def about(self) -> None:
        text = f"{TITLE} (build 0417)\nCopyright 1998-2003 Meridian Software Ltd."
        self._pop_up("about", "About", "ABOUT THIS PROGRAM", text, "Close")

    def tip(self) -> None:
        if self.session is not None and self._popup is None:
            self._pop_up("tip", "Tip of the Day", "TIP OF THE DAY", self._tips.choice(TIPS), "Close")

    def start(self) -> None:
        self._arrive(self.sign_on_panel, "")

    # -- inside --------------------------------------------------------------------------------

    def _arrive(self, make: Callable[[], Panel], message: str) -> None:
        self._pending = None
        if self.panel is not None:
            self.panel.destroy()  # type: ignore[attr-defined]
        self.panel = panel = make()
        panel.pack(fill="both", expand=True, padx=self.look.px(18), pady=self.look.px(12))  # type: ignore[attr-defined]
        self._heading.configure(text=panel.heading)
        self._code.configure(text=panel.code)
        self._user.configure(text=f"USER {self.login.user.upper()}" if self.session else "NO USER")
        self.root.configure(cursor="")
        self.say(message)
        if self._popup is None:
            panel.shown()
        if self.session is not None:
            self._changes += 1
            every = self._behavior.tip_after
            if every and self._changes % every == 0:
                self.root.after(self._tips.randint(150, 500), self.tip)

    def _build(self) -> None:
        root, look = self.root, self.look
        root.title(TITLE)
        root.resizable(False, False)
        root.report_callback_exception = self._report
        self._build_menu_bar()
        self._heading = tk.Label(root, font=look.heading, foreground=FIELD, background=NAVY, anchor="w")
        self._heading.configure(padx=look.px(12), pady=look.px(5))
        self._heading.pack(side="top", fill="x", padx=look.px(4), pady=look.px(4))

        status = tk.Frame(root)
        status.pack(side="bottom", fill="x", padx=look.px(3), pady=look.px(3))
        inset = {"relief": "sunken", "borderwidth": 2, "padx": look.px(6), "pady": look.px(2)}
        self._user = tk.Label(status, width=15, anchor="w", **inset)  # type: ignore[arg-type]
        self._user.pack(side="right", fill="y")
        self._code = tk.Label(status, width=8, **inset)  # type: ignore[arg-type]
        self._code.pack(side="right", fill="y", padx=look.px(3))
        self._message = tk.Label(status, anchor="w", **inset)  # type: ignore[arg-type]
        self._message.pack(side="left", fill="both", expand=True)
        keys = tk.Label(root, text=KEY_HINTS, anchor="w", relief="groove", borderwidth=2, padx=look.px(8))
        keys.pack(side="bottom", fill="x", padx=look.px(3))
        self.stage = tk.Frame(root, relief="ridge", borderwidth=3)
        self.stage.pack(side="top", fill="both", expand=True, padx=look.px(4))
        # The font of errors is smaller. Without a fixed height the status bar would move.
        status.configure(height=status.winfo_reqheight())

        for key, command in {
            "<F1>": self.help,
            "<F2>": self.find,
            "<F3>": self._back,
            "<F9>": self.main_menu,
            "<F12>": self.sign_off,
        }.items():
            root.bind(key, lambda _event, command=command: self._key(command))  # type: ignore[misc]
        for key in ("<Return>", "<KP_Enter>", "<Linefeed>"):
            root.bind_class("Button", key, lambda event: event.widget.invoke())  # type: ignore[attr-defined]
        for event in ("<Configure>", "<Map>", "<FocusIn>", "<FocusOut>"):
            root.bind(event, self.note_state)
        root.bind("<FocusIn>", self._keep_focus_on_popup, add=True)

    def _build_menu_bar(self) -> None:
        bar = tk.Frame(self.root, relief="raised", borderwidth=2)
        bar.pack(side="top", fill="x")
        menus: dict[str, list[tuple[str, Callable[[], object]]]] = {
            "File": [("Sign off", self.sign_off), ("Exit program", self.root.destroy)],
            "Records": [("Find posting", self._if_signed_on(self.find))],
            "Window": [("Go to menu", self._if_signed_on(self.main_menu))],
            "Help": [("Manual", self.help), ("Daily tip", self.tip), ("About", self.about)],
        }
        for title, items in menus.items():
            button = tk.Menubutton(bar, text=title, padx=self.look.px(10), pady=self.look.px(3))
            menu = tk.Menu(button, relief="raised", borderwidth=2)
            for label, command in items:
                menu.add_command(label=label, command=command)
            button.configure(menu=menu)
            button.pack(side="left")

    def _if_signed_on(self, command: Callable[[], object]) -> Callable[[], object]:
        return lambda: command() if self.session is not None else self.say("E-100 SIGN ON FIRST", error=True)

    def _back(self) -> None:
        if self.panel:
            self.panel.back()

    def _key(self, command: Callable[[], object]) -> None:
        if self._popup is not None:
            return
        if self.session is None and command != self.help:
            self.say("E-100 SIGN ON FIRST", error=True)
        else:
            command()

    def _pop_up(self, name: str, title: str, heading: str, text: str, button: str) -> None:
        if self._popup is None:
            self._popup = Popup(self, name, title, heading, text, button, self._popup_closed)
            self.note_state()

    def _popup_closed(self) -> None:
        self._popup = None
        if self.panel is not None:
            self.panel.shown()
        self.note_state()

    def _keep_focus_on_popup(self, _event: object) -> None:
        if self._popup is not None:
            self._popup.take_focus()

    def _report(self, kind: type[BaseException], error: BaseException, _trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            self.say(f"E-900 DATABASE: {error}", error=True)
            return
        raise error

    def _write_state(self, busy: bool | None = None) -> None:
        """Write the screen and the boxes of its widgets, so that a test can click without OCR. Only for tests."""
        self._state_due = None
        if self._state_file is None or self.panel is None or not self.root.winfo_viewable():
            return
        self.root.update_idletasks()
        parts = dict(self.panel.parts)
        if self._popup is not None:
            parts |= self._popup.parts
        state = {
            "screen": self.panel.name,
            "heading": self.panel.heading,
            "popup": self._popup.name if self._popup and self._popup.ready else None,
            "busy": self._pending is not None if busy is None else busy,
            "status": str(self._message.cget("text")),
            "changes": self._changes,
            "window": _box(self.root),
            "widgets": {name: _box(widget) for name, widget in parts.items()},
            "values": self.panel.values(),
            "focus": next((n for n, w in parts.items() if w == self.root.focus_get()), None),
        }
        draft = self._state_file.with_name(self._state_file.name + ".draft")
        draft.write_text(json.dumps(state))
        os.replace(draft, self._state_file)  # noqa: PTH105


class Popup(tk.Toplevel):
    """A modal window over the form. The form ignores input until it is closed."""

    def __init__(
        self,
        window: LedgerWindow,
        name: str,
        title: str,
        heading: str,
        text: str,
        button: str,
        closed: Callable[[], None],
    ) -> None:
        super().__init__(window.root, relief="raised", borderwidth=3)
        self.name, self._window, self._closed = name, window, closed
        self.ready = False
        look = window.look
        self.withdraw()
        self.title(title)
        self.transient(window.root)
        self.resizable(False, False)
        band = tk.Label(self, text=heading, font=look.heading, foreground=FIELD, background=NAVY, anchor="w")
        band.configure(padx=look.px(10), pady=look.px(4))
        band.pack(fill="x", padx=look.px(4), pady=look.px(4))
        body = tk.Label(self, text=text, justify="left", wraplength=look.px(360))
        body.pack(padx=look.px(24), pady=look.px(14))
        self._button = look.button(self, button, self.close, width=10)
        self._button.pack(pady=(0, look.px(12)))
        self.parts: dict[str, tk.Widget] = {f"{name}.close": self._button}
        self.bind("<Escape>", lambda _event: self.close())
        # A click on the form beneath arrives here. The window manager has focused the form, and Tk does not notice
        # that during the grab.
        self.bind("<ButtonPress>", lambda _event: self.take_focus())
        self.protocol("WM_DELETE_WINDOW", self.close)
        self._place()
        self.deiconify()
        self._hold()

    def close(self) -> None:
        self.grab_release()
        self.destroy()
        self._closed()

    def take_focus(self) -> None:
        self.lift()
        self._button.focus_force()

    def _place(self) -> None:
        self.update_idletasks()
        root, width, height = self._window.root, self.winfo_reqwidth(), self.winfo_reqheight()
        left = root.winfo_rootx() + (root.winfo_width() - width) // 2
        top = root.winfo_rooty() + (root.winfo_height() - height) // 3
        left = max(0, min(left, root.winfo_screenwidth() - width - 10))
        top = max(0, min(top, root.winfo_screenheight() - height - 40))
        self.geometry(f"+{left}+{top}")

    def _hold(self) -> None:
        try:
            self.grab_set()
        except tk.TclError:  # not mapped by the window manager yet
            self.after(10, self._hold)
            return
        self.take_focus()
        self.ready = True
        self._window.note_state()


def _box(widget: tk.Misc) -> list[int]:
    """Return x, y, width and height in screen pixels."""
    return [widget.winfo_rootx(), widget.winfo_rooty(), widget.winfo_width(), widget.winfo_height()]
