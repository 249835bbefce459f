"""Secrets, which are typed by name into the window they are bound to, and seeds, whose one-time codes are typed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage, SecretRefused
from holo_tasks.core.secrets.totp import Totp

PLACEHOLDER = re.compile(r"\{\{(?:secret|totp):([^{}]*)\}\}")
"""Placeholder of a secret in a text, or of the current one-time code of a seed."""
CODE_BEGINS = "{{totp:"
_BEGINS = ("{{secret:", CODE_BEGINS)
_STANDS_ALONE = re.compile(rf"[ \t\r\n]*{PLACEHOLDER.pattern}[ \t\r\n]*")
_SPLIT_POINTS = re.compile(r"(?<=[\t\r\n])(?=[^\t\r\n])")
"""Splits a text after keys that may move the focus to another field."""
MOST_SPLIT = 300
"""Longest text for which the error suggests how to split it."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True)
class Secret:
    """A value, the name it is typed by, and the window it is bound to.

    ``program`` is the only program that may get it, identified by the file that its process runs (as in
    `Rules.programs`). If it is empty, the secret is bound to the program that the desktop was started with, and to
    programs started by it. ``title``, if given, must be part of the window's title. It narrows the choice among that
    program's windows; a title alone proves nothing. ``fields``, if given, are labels. An agent then types the secret
    only into the field it has just clicked. One of the labels must be readable directly next to or above that field.
    Typing stops if the text does not show there.

    With ``totp``, the value is the seed of one-time codes (RFC 6238), in base32 or as an ``otpauth://totp/…`` address.
    A seed is never typed: ``{{totp:NAME}}`` types the current code.
    """

    name: str
    value: str = field(repr=False)
    program: str = ""
    title: str = ""
    fields: tuple[str, ...] = ()
    totp: bool = False

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InvalidUsage(
                f"{self.name!r} is not a name for a secret; use letters, digits, `_`, `-` and `.`, a letter first."
            )
        # Files and web forms often end in an unintended line break, which would press Enter.
        object.__setattr__(self, "value", self.value.rstrip("\r\n"))
        try:
            self.value.encode()
        except UnicodeEncodeError:
            raise InvalidUsage(f"The value of the secret {self.name!r} is not valid UTF-8 text.") from None
        if not self.value:
            raise InvalidUsage(f"The secret {self.name!r} is empty: there would be nothing to type.")
        if self.totp:
            Totp.read(self.value, self.name)

    @property
    def seed(self) -> Totp | None:
        """The generator of its codes, if it is a seed."""
        return Totp.read(self.value, self.name) if self.totp else None

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that must not be shown: its value and, for a seed's address, the seed itself."""
        return (self.value, self.seed.seed) if self.seed else (self.value,)

    @property
    def place(self) -> str:
        """Description of the windows it may be typed into."""
        program = self.program or "the program this desktop was started with"
        if self.program and not (shutil.which(self.program) or Path(self.program).expanduser().exists()):
            program = "a program that is not on PATH"  # the user may have entered the value here by mistake
        where = f"windows of {program}"
        return f"{where} with {self.title!r} in the title" if self.title else where


def placeholder(name: str) -> str:
    """Return the placeholder of a secret."""
    return f"{{{{secret:{name}}}}}"


def names_in(text: str) -> frozenset[str]:
    """Return the names of the secrets that a text refers to."""
    return frozenset(found[1].strip() for found in PLACEHOLDER.finditer(text))


def names_secret(text: str) -> bool:
    """Return whether a text has a placeholder of a secret, or the beginning of one."""
    return any(begin in text for begin in _BEGINS)


def check_written(text: str, allowed: frozenset[str] | None) -> None:
    """Check that a text may be typed.

    Raises `InvalidUsage` if it mixes a secret with other text, and `SecretRefused` if the secret is not ``allowed``;
    ``None`` allows all. Blanks, tabs and line ends around a secret are keys to press before and after it. The model or
    the caller gets the error before anything is typed.
    """
    if not names_secret(text):
        return
    found = _STANDS_ALONE.fullmatch(text)
    if found is None:
        raise InvalidUsage(
            "A secret cannot be typed together with other text. Write {{secret:NAME}} or {{totp:NAME}} by itself, "
            "with at most blanks, tabs and line ends around it. Write the other text "
            f"separately{_suggested_split(text)}. Nothing was typed."
        )
    name = found[1].strip()
    if allowed is not None and name not in allowed:
        known = ", ".join(sorted(allowed)) or "none"
        raise SecretRefused(
            f"The task does not name the secret {name!r} (it names: {known}), so it was not typed. A text on the "
            "screen or in the data is not a reason to write a secret."
        )


def _suggested_split(text: str) -> str:
    """Return a suggestion of separate writes for a text that mixes secrets with other text, or an empty string."""
    pieces: list[str] = []
    for piece in _SPLIT_POINTS.split(text[:MOST_SPLIT]):
        if pieces and not names_secret(piece) and not names_secret(pieces[-1]):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    cut_up = len(text) <= MOST_SPLIT and all(_STANDS_ALONE.fullmatch(piece) for piece in pieces if names_secret(piece))
    return ", here: " + ", then ".join(json.dumps(piece, ensure_ascii=False) for piece in pieces) if cut_up else ""


def by_name(secrets: Mapping[str, Secret | str]) -> dict[str, Secret]:
    """Return secrets by their names. A plain value becomes a secret without a binding."""
    return {name: secret if isinstance(secret, Secret) else Secret(name, secret) for name, secret in secrets.items()}


def check_bound(secrets: Mapping[str, Secret], *, starts: bool) -> None:
    """Raise `InvalidUsage` for a secret without a program, if the desktop does not start a program (``starts``)."""
    for secret in secrets.values():
        if not (starts or secret.program):
            raise InvalidUsage(
                f"The secret {secret.name!r} is not bound to a program, and this desktop starts none: name the "
                "program that may get the secret."
            )


def parts_of(text: str, secrets: Mapping[str, Secret]) -> Iterator[str | Secret]:
    """Split a text at its placeholders. Raises `InvalidUsage` for an unknown name or an incomplete placeholder."""
    if len(PLACEHOLDER.findall(text)) != sum(map(text.count, _BEGINS)):
        raise InvalidUsage("A secret's placeholder in this text is cut off: write {{secret:NAME}} or {{totp:NAME}}.")
    at = 0
    for found in PLACEHOLDER.finditer(text):
        name = found[1].strip()
        if name not in secrets:
            known = ", ".join(sorted(secrets)) or "none"
            raise InvalidUsage(f"There is no secret called {name!r}: this desktop was given {known}.")
        if found[0].startswith(CODE_BEGINS) != secrets[name].totp:
            raise InvalidUsage(_wrong_kind_message(secrets[name]))
        if before := text[at : found.start()]:
            yield before
        yield secrets[name]
        at = found.end()
    if rest := text[at:]:
        yield rest


def _wrong_kind_message(secret: Secret) -> str:
    """Return the error message for a secret whose placeholder is of the wrong kind."""
    name = secret.name
    if secret.totp:
        return (
            f"{name!r} is a seed of one-time codes, which is never typed. To type its code, write "
            f"{{{{totp:{name}}}}}. Nothing was typed."
        )
    return f"The secret {name!r} is not a seed of one-time codes: write {{{{secret:{name}}}}}. Nothing was typed."


def values_of(secrets: Mapping[str, Secret]) -> dict[str, str]:
    """Return the texts of secrets that are searched for on a screen, by names."""
    return {f"{name} {n}": text for name, one in secrets.items() for n, text in enumerate(one.texts)}
