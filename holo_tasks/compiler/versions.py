"""Store the versions of a learned playbook, with signed notes about their results. Notes are only added.

A version starts in shadow. It is promoted after it has agreed with the model often enough. It is demoted to shadow when
it gives up more often than it fits. It is dropped if it differs from the model as often as it would have had to agree.
`Versions` reads and writes them.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import rfc8785

from holo_tasks.audit.keys import SigningKey
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.compiler.playbook_stores import PlaybookStore
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.playbook import Playbook, parse_playbook

Kind: TypeAlias = Literal["version", "shadow", "promoted", "acted", "demoted", "dropped"]
Status: TypeAlias = Literal["none", "shadow", "promoted", "dropped"]
NOTE = re.compile(r"\d{8}-\d{6}-\d{6}-[0-9a-f]{6}-[a-z]+\.json")
SHORT = 12
"""The number of hexadecimal digits of the digest in the name of a version."""


@dataclass(frozen=True)
class Version:
    """A version of a playbook, with its status and counts.

    ``agreed`` and ``differed`` compare it with the model while it is in shadow. ``fitted`` and ``gave_up`` count
    its own runs since its promotion.
    """

    id: str = ""
    goal: str = ""
    sha256: str = ""
    status: Status = "none"
    agreed: int = 0
    differed: int = 0
    fitted: int = 0
    gave_up: int = 0

    def after(self, kind: str, entry: Mapping[str, Any]) -> Version:
        """Return the version after a note about it."""
        match kind:
            case "version":
                return Version(str(entry["version"]), str(entry["goal"]), str(entry["sha256"]), "shadow")
            case _ if entry.get("version") != self.id:
                return self  # the note is about an older version
            case "shadow":
                agrees = bool(entry["agreed"])
                return replace(self, agreed=self.agreed + agrees, differed=self.differed + (not agrees))
            case "promoted":
                return replace(self, status="promoted", fitted=0, gave_up=0)
            case "acted":
                fitted, gave_up = int(entry["fitted"]), int(entry["gave_up"])
                return replace(self, fitted=self.fitted + fitted, gave_up=self.gave_up + gave_up)
            case "demoted":
                return replace(self, status="shadow", agreed=0, differed=0)
            case "dropped":
                return replace(self, status="dropped")
            case _:
                return self


@dataclass(frozen=True)
class Versions:
    """The versions of one goal's playbook on a shelf.

    Everything that is read must be signed with ``public``. ``key`` signs new notes, and is ``None`` for readers.
    """

    shelf: PlaybookStore
    name: str
    public: PublicKey
    key: SigningKey | None = None

    def newest(self) -> Version:
        """Return the newest version with its status.

        Raises `InvalidUsage` for a note that is changed, or not signed with this key.
        """
        found = Version()
        for name in self.shelf.names(self.name):
            if NOTE.fullmatch(name):
                entry = self._read_note(name)
                found = found.after(str(entry["kind"]), entry)
        return found

    def playbook(self, version: Version) -> tuple[Playbook, str]:
        """Return the playbook of a version, and its text.

        Raises `InvalidUsage` if the text was changed after the signature.
        """
        name = f"{version.id}.playbook.yaml"
        data = self.shelf.read(self.name, name)
        if hashlib.sha256(data).hexdigest() != version.sha256:
            raise InvalidUsage(
                f"The learned playbook {self.name}/{name} was changed after it was signed: it is not used. To use a "
                "playbook that a person has changed, give it as a separate Script(…)."
            )
        text = data.decode()
        return parse_playbook(text, name), text

    def add_version(self, text: str, goal: str, runs: list[str]) -> Version:
        """Store a new playbook. Its status is shadow."""
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        self.shelf.put(self.name, f"{sha256[:SHORT]}.playbook.yaml", text.encode())
        entry = {"version": sha256[:SHORT], "sha256": sha256, "goal": goal, "runs": runs}
        return Version().after("version", self._add("version", entry))

    def note(self, version: Version, kind: Kind, **entry: Any) -> Version:
        """Add a note about a version and return the version after it."""
        return version.after(kind, self._add(kind, {"version": version.id, **entry}))

    def _add(self, kind: Kind, entry: Mapping[str, Any]) -> dict[str, Any]:
        assert self.key is not None
        now = datetime.now(UTC)
        entry = {"kind": kind, "name": self.name, **entry}
        # The signature covers all other keys. It is the last key in canonical order.
        body = rfc8785.dumps({"at": now.isoformat(), "learned": entry})
        line = body[:-1] + f',"signature":"{self.key.sign(body)}"}}'.encode()
        self.shelf.put(self.name, f"{now:%Y%m%d-%H%M%S-%f}-{secrets.token_hex(3)}-{kind}.json", line)
        return entry

    def _read_note(self, name: str) -> dict[str, Any]:
        line = self.shelf.read(self.name, name)
        if not self.public.has_signed(line):
            raise InvalidUsage(
                f"{self.name}/{name} of the learned playbooks is not signed with the key "
                f"{self.public.fingerprint[:16]}…, or was changed: no playbook from there is used."
            )
        entry: dict[str, Any] = json.loads(line)["learned"]
        if entry.get("name") != self.name:
            raise InvalidUsage(
                f"{self.name}/{name} of the learned playbooks is of another goal: none from there is used."
            )
        return entry
