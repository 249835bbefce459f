"""Claws Mail: find a letter by its subject, reply to it, and put the reply into the queue."""

from __future__ import annotations

from collections.abc import Sequence
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as usual
from pathlib import Path

from benchmarks.field.program import (
    GTK_DARK,
    GTK_FONT,
    Call,
    Program,
    Records,
    Started,
    Step,
    Values,
    answers,
    pointed,
    press,
    types,
)
from benchmarks.office.mail import FOLDERS, SETTINGS, section
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.geometry import Size

ACCOUNT = {
    "config_version": 4,
    "account_name": "Office",
    "is_default": 1,
    "name": "Office",
    "address": "office@example.com",
    "protocol": 6,  # an account that only sends
    "use_mail_command": 1,
    "mail_command": "/bin/false",
}
SPECIAL = b"X-Claws-End-Special-Headers: 1\n"
"""Last of the headers that Claws Mail puts before a queued letter."""
LETTERS = (
    *(("Adler", "B-2001"), ("Berg", "B-2002"), ("Cedar", "B-2007")),
    *(("Dorn", "B-2010"), ("Elm", "B-2012"), ("Ferry", "B-2021")),
)


class ClawsMail(Program):
    name, title = "claws", "Claws Mail 4.1 (GTK 3)"
    binary, packages = "claws-mail", ("claws-mail",)
    task = "Reply to the letter about this order with this text, and put the reply into the queue. Answer done."
    drifts = ("larger font", "dark theme", "smaller screen", "window moved", "another order", "tip", "slow")
    items = (
        {"order": "B-2002", "text": "The paper comes on Monday."},
        {"order": "B-2010", "text": "We cannot print the flyers."},
        {"order": "B-2012", "text": "Two boxes are missing."},
        {"order": "B-2021", "text": "Please call us back."},
    )

    def prepare(self, folder: Path, drift: str) -> Started:
        settings, mail = folder / ".claws-mail", folder / "mail"
        settings.mkdir()
        (settings / "clawsrc").write_text(section("Common", SETTINGS))
        (settings / "accountrc").write_text(section("Account: 1", ACCOUNT))
        known = "".join(f'<folderitem type="{kind}" name="{name}" path="{name}"/>' for name, kind in FOLDERS.items())
        (settings / "folderlist.xml").write_text(
            '<?xml version="1.0" encoding="UTF-8"?><folderlist><folder type="mh" name="Letters" '
            f'path="{mail}">{known}</folder></folderlist>'
        )
        for each in FOLDERS:
            (mail / each).mkdir(parents=True)
        for number, (name, order) in enumerate(reversed(LETTERS) if drift == "another order" else LETTERS, 1):
            letter = EmailMessage()
            letter["From"], letter["To"] = f"{name} <{name.lower()}@example.com>", "Office <office@example.com>"
            letter["Subject"], letter["Date"] = f"Order {order}", f"Mon, 02 Nov 2026 10:0{number}:00 +0000"
            letter.set_content("Where is my order?\n")
            (mail / "inbox" / str(number)).write_bytes(letter.as_bytes())
        environment = {"larger font": GTK_FONT, "dark theme": GTK_DARK}.get(drift, {})
        return Started(["claws-mail", "--select", "#mh/Letters/inbox"], environment)

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find("button", "Compose"))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            _search,
            types(item["order"], overwrite=True, press_enter=True),
            press("button", "Reply"),
            _body,
            types(item["text"]),
            press("button", "Send later"),
            answers("done"),
        ]

    def records(self, folder: Path) -> Records:
        found: Records = []
        for box in FOLDERS:
            for file in (folder / "mail" / box).iterdir():
                if file.name.isdigit():
                    found.append((box, *_read(file.read_bytes())))
        return found

    def expected(self, before: Records, item: Values) -> Records:
        name = next(name for name, order in LETTERS if order == item["order"])
        to = f"{name} <{name.lower()}@example.com>"
        return [*before, ("queue", to, f"Re: Order {item['order']}", item["text"])]


def _read(letter: bytes) -> tuple[str, str, str]:
    """Return the receiver, the subject and the text of a letter, after the program's own headers."""
    _, _, sent = letter.rpartition(SPECIAL)
    message = message_from_bytes(sent, _class=EmailMessage, policy=usual)
    body = message.get_body(("plain",))
    return str(message["to"]), str(message["subject"]), body.get_content().strip() if body else ""


def _search(tree: ElementTree, size: Size) -> Call | None:
    """Return a click into the search field, which has no name and is right of the list that says Subject."""
    fields = [each for each in tree.find("text field") if "editable" in each.states]
    named = tree.find("combo box", "Subject")
    found = [each for each in fields if any(abs(each.box.center.y - one.box.center.y) < 20 for one in named)]
    return pointed(found[0].box.center.x, found[0].box.center.y, "search", size) if found else None


def _body(tree: ElementTree, size: Size) -> Call | None:
    """Return a click into the text of the letter, which has no name."""
    fields = [each for each in tree.find("text field") if {"editable", "multi line"} <= each.states]
    return pointed(fields[-1].box.center.x, fields[-1].box.center.y, "text of the letter", size) if fields else None
