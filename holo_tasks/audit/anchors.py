"""Heads of a growing trace, written down apart from it, so that a trace cannot quietly be rolled back or made anew."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import rfc8785

from holo_tasks.audit.errors import StoreTrouble
from holo_tasks.audit.keys import SigningKey
from holo_tasks.core.errors import HoloError
from holo_tasks.core.events import Anchor

EVERY_RECORDS = 200
INTERVAL_S = 30.0
PATIENCE_S = 8.0


@dataclass(frozen=True)
class Head:
    """A trace's number of records, the SHA-256 of its last line, and how many records have been delivered."""

    records: int
    sha256: str
    delivered: int


class AnchorPlace(Protocol):
    """Where heads are written down; ``put`` returns when the anchor is durable, else raises."""

    @property
    def where(self) -> str: ...

    def put(self, anchor: Anchor, line: bytes) -> None: ...


class Anchoring:
    """Anchors one run's heads in a thread of its own: at its opening, every 200 records or 30 s, and when asked to.

    Nobody waits for it but `settle`, and that within bounds. It is told only of what is durable, so no crash leaves
    an anchor without the record it stands for.
    """

    def __init__(self, run_id: str, key: SigningKey, places: Sequence[AnchorPlace]) -> None:
        self._run_id, self._key = run_id, key
        self._places = tuple(places)
        self._changed = threading.Condition()
        self._head: Head | None = None
        self._tried = 0
        self._asked = self._answered = 0
        self._stop = False
        self._anchored: dict[str, Head] = {}
        self._line: tuple[Head, Anchor, bytes] | None = None
        self._trouble: dict[str, str] = {}
        self._thread = threading.Thread(target=self._run, name=f"anchors-{run_id}", daemon=True)
        self._thread.start()

    def notice(self, head: Head) -> None:
        """Hear of a new head. Its record must be durable."""
        with self._changed:
            self._head = head
            if self._due():
                self._changed.notify_all()

    def settle(self, head: Head, timeout_s: float = PATIENCE_S) -> str:
        """Anchor this head now; what was in the way, or nothing."""
        with self._changed:
            self._head = head
            self._asked += 1
            mine = self._asked
            self._changed.notify_all()
            in_time = self._changed.wait_for(lambda: self._answered >= mine, timeout=timeout_s)
            if in_time and not self._trouble:
                return ""
            late = [place.where for place in self._places if self._anchored.get(place.where) != head]
            reasons = [self._trouble.get(where, f"{where} took longer than {timeout_s:g} s") for where in late]
        return f"the head of the trace could not be anchored ({'; '.join(reasons)})" if reasons else ""

    def close(self) -> None:
        """End the thread after what it is doing."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()

    def _due(self) -> bool:
        if self._stop or self._asked > self._answered:
            return True
        return self._head is not None and (not self._tried or self._head.records - self._tried >= EVERY_RECORDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._due, timeout=INTERVAL_S)
                if self._stop:
                    return
                head, asked = self._head, self._asked
                self._tried = head.records if head else 0
            if head is not None and head.records:
                self._anchor(head)
            with self._changed:
                self._answered = asked
                self._changed.notify_all()

    def _signed(self, head: Head) -> tuple[Anchor, bytes]:
        """An anchor and its line; the same bytes each time, for a place may have them although its reply was lost."""
        if self._line and self._line[0] == head:
            return self._line[1:]
        at = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        bare = Anchor(
            run=self._run_id, seq=head.records - 1, head=head.sha256, delivered=head.delivered, at=at, signature=""
        )
        signature = self._key.sign(rfc8785.dumps(bare.model_dump(exclude={"signature"})))
        anchor = bare.model_copy(update={"signature": signature})
        self._line = head, anchor, rfc8785.dumps(anchor.model_dump())
        return self._line[1:]

    def _anchor(self, head: Head) -> None:
        anchor, line = self._signed(head)
        for place in self._places:
            if self._anchored.get(place.where) == head:
                continue
            try:
                place.put(anchor, line)
            except OSError as error:
                self._trouble[place.where] = f"{place.where}: {error.strerror}"
            except (StoreTrouble, HoloError) as error:
                self._trouble[place.where] = str(error)
            else:
                self._anchored[place.where] = head
                self._trouble.pop(place.where, None)
