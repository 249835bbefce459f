"""The versions of a learned playbook, and what became of each: signed notes that are only ever added to.

A version begins in shadow, is promoted when it has agreed with the model often enough, and is demoted, back into
shadow, when it gives up more often than it fits. One that differs as often as it would have had to agree is dropped.
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
from holo_tasks.compiler.shelves import Shelf
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.playbook import Playbook, parse_playbook

Kind: TypeAlias = Literal["version", "shadow", "promoted", "acted", "demoted", "dropped"]
Status: TypeAlias = Literal["none", "shadow", "promoted", "dropped"]
NOTE = re.compile(r"\d{8}-\d{6}-\d{6}-[0-9a-f]{6}-[a-z]+\.json")
SHORT = 12
"""So many digits of its digest name a version."""


@dataclass(frozen=True)
class Version:
    """A playbook by its digest, and where it stands: how often it agreed with the model and differed from it in its
    shadow, and how often it fitted and gave up since it stands before it."""

    id: str = ""
    goal: str = ""
    sha256: str = ""
    status: Status = "none"
    agreed: int = 0
    differed: int = 0
    fitted: int = 0
    gave_up: int = 0

    def after(self, kind: str, told: Mapping[str, Any]) -> Version:
        """Return it as it stands after a note of what became of it."""
        match kind:
            case "version":
                return Version(str(told["version"]), str(told["goal"]), str(told["sha256"]), "shadow")
            case _ if told.get("version") != self.id:
                return self  # of a version that another one has taken the place of
            case "shadow":
                agrees = bool(told["agreed"])
                return replace(self, agreed=self.agreed + agrees, differed=self.differed + (not agrees))
            case "promoted":
                return replace(self, status="promoted", fitted=0, gave_up=0)
            case "acted":
                fitted, gave_up = int(told["fitted"]), int(told["gave_up"])
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

    What is read there must bear the signature of ``public``; ``key`` signs what is added. Who only reads has none.
    """

    shelf: Shelf
    name: str
    public: PublicKey
    key: SigningKey | None = None

    def newest(self) -> Version:
        """Return the newest version and where it stands.

        Raises `InvalidUsage` for a note that is not signed with this key, or that was changed.
        """
        found = Version()
        for name in self.shelf.names(self.name):
            if NOTE.fullmatch(name):
                told = self._told(name)
                found = found.after(str(told["kind"]), told)
        return found

    def playbook(self, version: Version) -> tuple[Playbook, str]:
        """Return a version's playbook, and its text. Raises `InvalidUsage` if it is not what was signed."""
        name = f"{version.id}.playbook.yaml"
        data = self.shelf.read(self.name, name)
        if hashlib.sha256(data).hexdigest() != version.sha256:
            raise InvalidUsage(
                f"The learned playbook {self.name}/{name} was changed after it was signed: it is not used. Give a "
                "playbook that a person has changed as a Script(…) of its own."
            )
        text = data.decode()
        return parse_playbook(text, name), text

    def add_version(self, text: str, goal: str, runs: list[str]) -> Version:
        """Keep a new playbook, in shadow from now on."""
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        self.shelf.put(self.name, f"{sha256[:SHORT]}.playbook.yaml", text.encode())
        told = {"version": sha256[:SHORT], "sha256": sha256, "goal": goal, "runs": runs}
        return Version().after("version", self._add("version", told))

    def note(self, version: Version, kind: Kind, **told: Any) -> Version:
        """Note what became of a version; return it as it stands by then."""
        return version.after(kind, self._add(kind, {"version": version.id, **told}))

    def _add(self, kind: Kind, told: Mapping[str, Any]) -> dict[str, Any]:
        assert self.key is not None
        now = datetime.now(UTC)
        told = {"kind": kind, "name": self.name, **told}
        # The signature does not sign itself; its name comes last in canonical order.
        body = rfc8785.dumps({"at": now.isoformat(), "learned": told})
        line = body[:-1] + f',"signature":"{self.key.sign(body)}"}}'.encode()
        self.shelf.put(self.name, f"{now:%Y%m%d-%H%M%S-%f}-{secrets.token_hex(3)}-{kind}.json", line)
        return told

    def _told(self, name: str) -> dict[str, Any]:
        line = self.shelf.read(self.name, name)
        if not self.public.signed(line):
            raise InvalidUsage(
                f"{self.name}/{name} of the learned playbooks is not signed with the key "
                f"{self.public.fingerprint[:16]}…, or was changed: nothing that was learned there is used."
            )
        told: dict[str, Any] = json.loads(line)["learned"]
        if told.get("name") != self.name:
            raise InvalidUsage(f"{self.name}/{name} of the learned playbooks is of another goal: none is used.")
        return told
