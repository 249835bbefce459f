"""A secret: typed by its name, into the window it is bound to, and told to nobody; or a seed, whose codes are typed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage, SecretRefused
from holo_tasks.core.totp import Totp

PLACEHOLDER = re.compile(r"\{\{(?:secret|totp):([^{}]*)\}\}")
"""What stands for a secret in a text, and for the one-time code of this moment that a seed makes."""
CODE_BEGINS = "{{totp:"
_BEGINS = ("{{secret:", CODE_BEGINS)
_ALONE = re.compile(rf"[ \t\r\n]*{PLACEHOLDER.pattern}[ \t\r\n]*")
_PIECES = re.compile(r"(?<=[\t\r\n])(?=[^\t\r\n])")
"""Behind keys that may go to another field."""
MOST_SPLIT = 300
"""A text of so many characters is told cut up; what is longer, its writer can cut up without it."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True)
class Secret:
    """A value, the name it is typed by, and the window it is bound to.

    ``program`` is the only one that may get it, by the file that its process runs (as in `Rules.programs`); empty is
    the program that the desktop was started with, and what that started. ``title``, if given, has to be part of the
    window's title, which narrows the choice among that program's windows; a title alone is no proof of anything.
    ``fields``, if given, are labels: an agent types it into the field it has just clicked, and only if one of these is
    read right beside or above it, outside any field; typing stops when it does not show there.

    With ``totp`` the value is the seed of one-time codes (RFC 6238), in base32 or as an ``otpauth://totp/…`` address.
    It is never typed: ``{{totp:NAME}}`` types the code of the moment.
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
                f"{self.name!r} is no name for a secret: letters, digits, `_`, `-` and `.`, a letter first."
            )
        # Files and web forms end in a line break that nobody meant, and that would press Enter.
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
        """What makes its codes, if it is a seed."""
        return Totp.read(self.value, self.name) if self.totp else None

    @property
    def texts(self) -> tuple[str, ...]:
        """What of it is not to be seen anywhere: its value, also as part of an address."""
        return (self.value, self.seed.seed) if self.seed else (self.value,)

    @property
    def place(self) -> str:
        """Where it may be typed, in words."""
        program = self.program or "the program this desktop was started with"
        if self.program and not (shutil.which(self.program) or Path(self.program).expanduser().exists()):
            program = "a program that is not on PATH"  # somebody may have taken its place for that of the value
        where = f"windows of {program}"
        return f"{where} with {self.title!r} in the title" if self.title else where


def placeholder(name: str) -> str:
    """Return what stands for a secret in a text."""
    return f"{{{{secret:{name}}}}}"


def names_in(text: str) -> frozenset[str]:
    """Return the names of the secrets that a text names."""
    return frozenset(found[1].strip() for found in PLACEHOLDER.finditer(text))


def names_secret(text: str) -> bool:
    """Say whether a text names a secret, or begins to."""
    return any(begin in text for begin in _BEGINS)


def check_written(text: str, allowed: frozenset[str] | None) -> None:
    """Raise if a text is not to be written: `InvalidUsage` for a secret that does not stand alone in it,
    `SecretRefused` for one that is not ``allowed``; None allows all.

    Blanks, tabs and line ends around it are keys to be pressed before and after. Both errors are told to whoever wants
    the text written, before anything is.
    """
    if not names_secret(text):
        return
    found = _ALONE.fullmatch(text)
    if found is None:
        raise InvalidUsage(
            "A secret stands alone: write {{secret:NAME}} or {{totp:NAME}} by itself, at most blanks, tabs and line "
            f"ends around it, and other text with a write of its own{_instead(text)}. Nothing was typed."
        )
    name = found[1].strip()
    if allowed is not None and name not in allowed:
        known = ", ".join(sorted(allowed)) or "none"
        raise SecretRefused(
            f"The secret {name!r} is none of those that the task names (it names: {known}), so it was not typed. What "
            "the screen or the data say is no reason to write one."
        )


def _instead(text: str) -> str:
    """Say which writes come to the same as a text in which no secret stands alone, if they are plain to see."""
    pieces: list[str] = []
    for piece in _PIECES.split(text[:MOST_SPLIT]):
        if pieces and not names_secret(piece) and not names_secret(pieces[-1]):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    cut_up = len(text) <= MOST_SPLIT and all(_ALONE.fullmatch(piece) for piece in pieces if names_secret(piece))
    return ", here: " + ", then ".join(json.dumps(piece, ensure_ascii=False) for piece in pieces) if cut_up else ""


def by_name(secrets: Mapping[str, Secret | str]) -> dict[str, Secret]:
    """Return secrets by their names; a bare value has no binding of its own."""
    return {name: secret if isinstance(secret, Secret) else Secret(name, secret) for name, secret in secrets.items()}


def check_bound(secrets: Mapping[str, Secret], *, starts: bool) -> None:
    """Raise `InvalidUsage` for a secret without a program, on a desktop that ``starts`` none of its own."""
    for secret in secrets.values():
        if not (starts or secret.program):
            raise InvalidUsage(
                f"The secret {secret.name!r} is bound to no program, and this desktop starts none: say which program "
                "may get it."
            )


def parts_of(text: str, secrets: Mapping[str, Secret]) -> Iterator[str | Secret]:
    """Cut a text at its placeholders; raise `InvalidUsage` for a name that is not known, or half a placeholder."""
    if len(PLACEHOLDER.findall(text)) != sum(map(text.count, _BEGINS)):
        raise InvalidUsage("A secret is written {{secret:NAME}} or {{totp:NAME}}: one in this text is cut off.")
    at = 0
    for found in PLACEHOLDER.finditer(text):
        name = found[1].strip()
        if name not in secrets:
            known = ", ".join(sorted(secrets)) or "none"
            raise InvalidUsage(f"There is no secret called {name!r}: this desktop was given {known}.")
        if found[0].startswith(CODE_BEGINS) != secrets[name].totp:
            raise InvalidUsage(_other_kind(secrets[name]))
        if before := text[at : found.start()]:
            yield before
        yield secrets[name]
        at = found.end()
    if rest := text[at:]:
        yield rest


def _other_kind(secret: Secret) -> str:
    """Say how a secret is written that was taken for one of the other kind."""
    name = secret.name
    if secret.totp:
        return f"{name!r} is a seed, which is never typed: its code is written {{{{totp:{name}}}}}. Nothing was typed."
    return (
        f"The secret {name!r} is no seed of one-time codes, so it is written {{{{secret:{name}}}}}. Nothing was typed."
    )


def values_of(secrets: Mapping[str, Secret]) -> dict[str, str]:
    """Return the texts of secrets that are looked for on a screen, by names."""
    return {f"{name} {n}": text for name, one in secrets.items() for n, text in enumerate(one.texts)}
