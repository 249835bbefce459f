"""Seats: what only so many may use at a time, such as a program's licenses or a login.

Each seat is a claim of the ledger: it is renewed, has an epoch, and goes to the next one when its holder is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.visible_text import exact
from holo_tasks.safety.ledger import CLAIMS, BeingWorkedOn, Ledger, Vigil
from holo_tasks.safety.scrubbing import check_open
from holo_tasks.safety.store import HURRY_S, TABLES, Store, add

GOAL = "seat"
MOST_SEATS = 1000
SEATS = sa.Table(
    "seats",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("seats", sa.BigInteger, nullable=False),
)


@dataclass(frozen=True)
class Seat:
    """A place at something that only ``of`` may use at a time, all machines together: a program or a login."""

    name: str
    of: int = 1

    def __post_init__(self) -> None:
        if not self.name.strip() or len(self.name) > 200 or not self.name.isprintable():
            raise InvalidUsage(f"A seat is named in one line of 1 to 200 characters, not {self.name[:60]!r}.")
        if isinstance(self.of, bool) or not 1 <= self.of <= MOST_SEATS:
            raise InvalidUsage(f"There are 1 to {MOST_SEATS} seats of one name, not {self.of}.")

    @property
    def tokens(self) -> list[str]:
        """What is claimed: one token for each."""
        return [f"{_prefix(self.name)}{number}" for number in range(1, self.of + 1)]


@dataclass(frozen=True)
class SeatsTaken:
    """How many seats of a name there are, and how many of them are taken."""

    name: str
    seats: int
    taken: int


class Seats:
    """Kept in the shared database."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._vigils: dict[str, Vigil] = {}

    def declare(self, seat: Seat) -> None:
        """Write down how many seats there are. Raises `InvalidUsage` for another number while any of them is taken."""
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
                    "number can be changed once nobody has one."
                )
            db.execute(sa.update(SEATS).where(SEATS.c.name == seat.name).values(seats=seat.of))

        self._store.do(declare)

    def all(self) -> list[SeatsTaken]:
        """Return all seats there are, by name."""
        with self._store.transaction(HURRY_S) as db:
            rows = db.execute(sa.select(SEATS).order_by(SEATS.c.name)).all()
            return [SeatsTaken(row.name, row.seats, len(_held(db, row.name))) for row in rows]

    def release_lapsed(self) -> int:
        """Free the seats whose holders are gone; return how many. As of lapsed workers, ask again now and then."""
        with self._store.transaction() as db:
            tokens = [token for row in db.execute(sa.select(SEATS)).all() for token in _held(db, row.name)]
        ledger, freed = Ledger(self._store), 0
        self._vigils = {token: self._vigils.get(token, Vigil()) for token in tokens}
        for token in tokens:
            try:
                gone = ledger.let_go(token, GOAL, self._vigils[token])
            except BeingWorkedOn:
                self._vigils.pop(token)
                continue
            if gone is not None:
                self._vigils.pop(token)
                freed += gone
        return freed

    @property
    def doubtful(self) -> bool:
        """Whether it was not known yet, of any seat, if its holder is gone."""
        return bool(self._vigils)

    def _declared(self, name: str) -> int | None:
        with self._store.transaction() as db:
            return db.execute(sa.select(SEATS.c.seats).where(SEATS.c.name == name)).scalar()


def _held(db: sa.Connection, name: str) -> list[str]:
    """Return the seats of a name that somebody has, or had when he died."""
    mine = (CLAIMS.c.goal == GOAL, CLAIMS.c.holder != "", CLAIMS.c.token.startswith(_prefix(name), autoescape=True))
    tokens = db.execute(sa.select(CLAIMS.c.token).where(*mine).order_by(CLAIMS.c.token)).scalars()
    return [token for token in tokens if number_of(name, token) is not None]


def number_of(name: str, token: str) -> int | None:
    """Return which seat of a name a token stands for; None if it is none of them."""
    number = token.removeprefix(_prefix(name))
    return int(number) if number != token and number.isdecimal() else None


def _prefix(name: str) -> str:
    return f"seat:{name}#"
