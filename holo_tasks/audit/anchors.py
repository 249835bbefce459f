"""Anchor the heads of a growing trace outside the trace, so that rolling it back or rewriting it is detected.

`Anchoring` is used by `TraceRecorder`. The verifier compares a trace with its anchors.
"""

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
"""How long the end of a run waits for its last head to be anchored, in seconds."""


@dataclass(frozen=True)
class Head:
    """The state of a trace: number of records, SHA-256 of the last line, and number of records delivered."""

    records: int
    sha256: str
    delivered: int


class AnchorPlace(Protocol):
    """A place that stores anchors. ``put`` returns when the anchor is durable, and raises otherwise."""

    @property
    def location(self) -> str: ...

    def put(self, anchor: Anchor, line: bytes) -> None: ...


class Anchoring:
    """Thread that anchors one run's heads: the first, then every 200 records or 30 s, and on request.

    Only `settle` waits for it, up to a time limit. Callers report durable heads only, so a crash never leaves an anchor
    without its record.
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
        """Report a new head. Its last record must be durable."""
        with self._changed:
            self._head = head
            if self._due():
                self._changed.notify_all()

    def settle(self, head: Head, timeout_s: float = PATIENCE_S) -> str:
        """Anchor this head now. Return why that failed, or an empty string."""
        with self._changed:
            self._head = head
            self._asked += 1
            mine = self._asked
            self._changed.notify_all()
            in_time = self._changed.wait_for(lambda: self._answered >= mine, timeout=timeout_s)
            if in_time and not self._trouble:
                return ""
            late = [place.location for place in self._places if self._anchored.get(place.location) != head]
            reasons = [self._trouble.get(where, f"{where} took longer than {timeout_s:g} s") for where in late]
        return f"the head of the trace could not be anchored ({'; '.join(reasons)})" if reasons else ""

    def close(self) -> None:
        """Stop the thread after the anchor in progress."""
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

    def _signed_anchor(self, head: Head) -> tuple[Anchor, bytes]:
        """Return the anchor of a head and its line.

        The line is cached: a place may have stored it although its reply was lost, and must get the same bytes again.
        """
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
        anchor, line = self._signed_anchor(head)
        for place in self._places:
            if self._anchored.get(place.location) == head:
                continue
            try:
                place.put(anchor, line)
            except OSError as error:
                self._trouble[place.location] = f"{place.location}: {error.strerror}"
            except (StoreTrouble, HoloError) as error:
                self._trouble[place.location] = str(error)
            else:
                self._anchored[place.location] = head
                self._trouble.pop(place.location, None)
