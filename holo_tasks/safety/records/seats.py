"""Seats limit how many runs use something at the same time, such as a program's licenses or a login.

Each seat is a claim of the ledger. It is renewed, has an epoch, and becomes free when its holder is dead.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.safety.database.store import HURRY_S, TABLES, Store, add
from holo_tasks.safety.records.ledger import CLAIMS, IdleWatch, Ledger, TokenInUse
from holo_tasks.safety.scrubbing import check_open

GOAL = "seat"
"""The goal of the ledger claims that are seats."""
MOST_SEATS = 1000
SEATS = sa.Table(
    "seats",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("seats", sa.BigInteger, nullable=False),
)


@dataclass(frozen=True)
class Seat:
    """A resource that at most ``of`` holders use at a time over all machines, such as a program or a login."""

    name: str
    of: int = 1

    def __post_init__(self) -> None:
        if not self.name.strip() or len(self.name) > 200 or not self.name.isprintable():
            raise InvalidUsage(f"The name of a seat is one line of 1 to 200 characters, not {self.name[:60]!r}.")
        if isinstance(self.of, bool) or not 1 <= self.of <= MOST_SEATS:
            raise InvalidUsage(f"The number of seats of one name is from 1 to {MOST_SEATS}, not {self.of}.")

    @property
    def tokens(self) -> list[str]:
        """The claim tokens, one for each seat."""
        return [f"{_prefix(self.name)}{number}" for number in range(1, self.of + 1)]


@dataclass(frozen=True)
class SeatsTaken:
    """The number of seats of a name, and how many are taken."""

    name: str
    seats: int
    taken: int


class Seats:
    """Seats in the shared database."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watches: dict[str, IdleWatch] = {}

    def declare(self, seat: Seat) -> None:
        """Store the number of seats. Raises `InvalidUsage` if the number differs while any seat is taken."""
        check_open("The name of a seat", seat.name)
        if self._declared(seat.name) == seat.of:
            return

        def declare(db: sa.Connection) -> None:
            if add(db, SEATS, name=seat.name, seats=seat.of):
                return
            row = db.execute(sa.select(SEATS).where(SEATS.c.name == seat.name).with_for_update()).one()
            if row.seats == seat.of:
                return
            if taken := len(_held(db, seat.name)):
                raise InvalidUsage(
                    f"There are {row.seats} seats of {exact(seat.name)} and not {seat.of}: {taken} are taken, and the "
                    "number can be changed once all are free."
                )
            db.execute(sa.update(SEATS).where(SEATS.c.name == seat.name).values(seats=seat.of))

        self._store.do(declare)

    def all(self) -> list[SeatsTaken]:
        """Return all declared seats, by name."""
        with self._store.transaction(HURRY_S) as db:
            rows = db.execute(sa.select(SEATS).order_by(SEATS.c.name)).all()
            return [SeatsTaken(row.name, row.seats, len(_held(db, row.name))) for row in rows]

    def release_lapsed(self) -> int:
        """Release the seats of dead holders; return their number.

        It takes some seconds to find out that a holder on another machine is dead. Call again on the same object.
        """
        with self._store.transaction() as db:
            tokens = [token for row in db.execute(sa.select(SEATS)).all() for token in _held(db, row.name)]
        ledger, freed = Ledger(self._store), 0
        self._watches = {token: self._watches.get(token, IdleWatch()) for token in tokens}
        for token in tokens:
            try:
                gone = ledger.release_if_dead(token, GOAL, self._watches[token])
            except TokenInUse:
                self._watches.pop(token)
                continue
            if gone is not None:
                self._watches.pop(token)
                freed += gone
        return freed

    @property
    def is_unsure(self) -> bool:
        """Whether some holder may be alive or dead, so that `release_lapsed` must be called again."""
        return bool(self._watches)

    def _declared(self, name: str) -> int | None:
        with self._store.transaction() as db:
            return db.execute(sa.select(SEATS.c.seats).where(SEATS.c.name == name)).scalar()


def _held(db: sa.Connection, name: str) -> list[str]:
    """Return the claim tokens of the taken seats of a name, including those of dead holders."""
    mine = (CLAIMS.c.goal == GOAL, CLAIMS.c.holder != "", CLAIMS.c.token.startswith(_prefix(name), autoescape=True))
    tokens = db.execute(sa.select(CLAIMS.c.token).where(*mine).order_by(CLAIMS.c.token)).scalars()
    return [token for token in tokens if seat_number(name, token) is not None]


def seat_number(name: str, token: str) -> int | None:
    """Return the seat number in a claim token, or ``None`` if the token belongs to another name."""
    number = token.removeprefix(_prefix(name))
    return int(number) if number != token and number.isdecimal() else None


def _prefix(name: str) -> str:
    return f"seat:{name}#"
