"""A mail client: answer a letter and send the answer."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as usual
from pathlib import Path
from typing import Any

from benchmarks.office.trial import PATIENT, WAIT, OfficeTrial, click, drawn, keys, write
from benchmarks.values import Item

MAILBOX = "Letters"
SETTINGS = {
    "config_version": 4,
    "mainwin_maximised": 1,
    "always_show_message_when_selected": 1,
    "open_selected_message_on_folder_open": 1,
    "reply_with_quote": 0,
    "enable_aspell": 0,  # without a dictionary it would report that before each letter
}
FOLDERS = {"inbox": "inbox", "sent": "outbox", "draft": "draft", "queue": "queue", "trash": "trash"}


class Mail(OfficeTrial):
    """Claws Mail with three received letters. The answer is judged as its send command receives it."""

    program, packages = "claws-mail", "claws-mail"

    @staticmethod
    def prepare(item: Item, work: Path) -> list[str]:
        _, people = drawn(item)
        settings = work.parent / ".claws-mail"
        settings.mkdir()
        account = {
            "config_version": 4,
            "account_name": "Office",
            "is_default": 1,
            "name": "Office",
            "address": address("Office"),
            "protocol": 6,  # an account that only sends
            "use_mail_command": 1,
            # Further letters are appended.
            "mail_command": f"{shutil.which('tee')} -a {work / 'sent.eml'}",
        }
        (settings / "clawsrc").write_text(section("Common", SETTINGS))
        (settings / "accountrc").write_text(section("Account: 1", account))
        known = "".join(f'<folderitem type="{kind}" name="{name}" path="{name}"/>' for name, kind in FOLDERS.items())
        (settings / "folderlist.xml").write_text(
            f'<?xml version="1.0" encoding="UTF-8"?><folderlist><folder type="mh" name="{MAILBOX}" '
            f'path="{work / "mail"}">{known}</folder></folderlist>'
        )
        for folder in FOLDERS:
            (work / "mail" / folder).mkdir(parents=True)
        for number, name in enumerate(people, 1):
            (work / "mail" / "inbox" / str(number)).write_bytes(letter_of(name, number))
        return ["claws-mail", "--select", f"#mh/{MAILBOX}/inbox"]

    @property
    def line(self) -> str:
        name, people = self.draw
        return f"Dear {people[1]}, your order is on {name}."

    def asked(self) -> str:
        _, people = self.draw
        return f"Answer the letter of {people[1]} with this one line and no other, and send it: {self.line}"

    def fault(self) -> str:
        _, people = self.draw
        file = self.work / "sent.eml"
        if not file.exists():
            return "nothing was sent"
        to, answered, text = read_letter(file.read_bytes())
        if to != [address(people[1])] or answered != message_id(people[1]):
            return f"sent to {to} in answer to {answered}"[:200]
        return "" if text == self.line else f"what was sent says {text[:120]!r}"

    def next_act(self) -> Mapping[str, Any] | None:
        _, people = self.draw
        fields = self.tree().find("text field")
        if any(each.name == "Subject:" for each in fields):  # the compose window is open
            return self._written([each for each in fields if not each.name and "multi line" in each.states])
        shown = next((each.value for each in fields if each.value.startswith("From:")), "")
        at = next((n for n, name in enumerate(people) if shown.startswith(f"From: {name} ")), None)
        if at is None:
            return WAIT
        last, waited = self.last_act()
        if at == 1:
            return WAIT if last.get("keys") == ["ctrl", "r"] and waited < PATIENT else keys("ctrl", "r")
        return keys("up" if at < 1 else "down")  # the newest letter is the first of the list

    def _written(self, fields: list[Any]) -> Mapping[str, Any]:
        """Return the next action in the compose window."""
        bodies = [each for each in fields if "editable" in each.states]
        last, waited = self.last_act()
        if not bodies or (last.get("keys") == ["ctrl", "enter"] and waited < PATIENT):
            return WAIT
        (body,) = bodies
        if body.value == self.line:
            return keys("ctrl", "enter")
        if "focused" not in body.states:
            return click(body.box.center, "the letter")
        return write(self.line, overwrite=True)


def read_letter(sent: bytes) -> tuple[list[str], str, str]:
    """Return the addresses of a sent letter, the identity of the letter that it answers, and its text."""
    letter = message_from_bytes(sent, _class=EmailMessage, policy=usual)
    body = letter.get_body(("plain",))
    text = body.get_content().strip() if body else ""
    to = [each.addr_spec for field in ("to", "cc", "bcc") if letter[field] for each in letter[field].addresses]
    return to, str(letter["in-reply-to"]), text


def address(name: str) -> str:
    """Return the address of a person."""
    return f"{name.lower()}@example.com"


def message_id(name: str) -> str:
    """Return the message id of a person's letter."""
    return f"<order.{name.lower()}@example.com>"


def letter_of(name: str, number: int) -> bytes:
    """Return a received letter in mail format. A larger number makes it newer."""
    letter = EmailMessage()
    letter["From"], letter["To"] = f"{name} <{address(name)}>", f"Office <{address('Office')}>"
    letter["Subject"], letter["Message-ID"] = f"Order of {name}", message_id(name)
    letter["Date"] = f"Mon, 02 Nov 2026 10:0{number}:00 +0000"
    letter.set_content(f"On which list is my order?\n\n{name}\n")
    return letter.as_bytes()


def section(name: str, settings: Mapping[str, object]) -> str:
    """Return settings in the format of Claws Mail."""
    return "".join([f"[{name}]\n", *(f"{key}={value}\n" for key, value in settings.items())])
