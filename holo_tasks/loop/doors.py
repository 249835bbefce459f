"""The outside world as one sub-goal sees it: the doors that its walk goes through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from holo_tasks.core.calibration import Correction
from holo_tasks.core.codes import NO_CODES, Codes
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Point
from holo_tasks.core.gestures import Typed
from holo_tasks.core.known_elements import Tell
from holo_tasks.core.model import Model
from holo_tasks.core.named_target import ReadsSpots
from holo_tasks.core.permit import Policy, TextReader
from holo_tasks.core.ports import BudgetStore, Desktop, Encoder, Journal, Recorder, Redactor, SetsAside
from holo_tasks.loop.consent import Approver
from holo_tasks.loop.corrections import CORRECTIONS
from holo_tasks.loop.element_tree import Elements


@dataclass(frozen=True)
class FieldText:
    """The text that OCR reads in a field. ``was_empty`` is about the screen before; a text that reaches the field's end
    ``is_full``, so that some of it may be out of sight.
    """

    text: str
    was_empty: bool
    is_full: bool


class ReadsField(Protocol):
    """Reads the field that was typed into."""

    async def __call__(self, before: Frame, after: Frame, at: Point | None) -> FieldText | None:
        """Return the text of the field at a point or, without one, where the screen changed; ``None`` if unsure."""
        ...


class Person(Protocol):
    """Somebody who is waited for."""

    async def help(self, walk: Any, question: str) -> str:
        """Give a person the screen because the model asks for one; return what the model is told afterwards.

        ``walk`` is the `Walk` that goes through these doors.

        Raises `NeedsPerson` if nobody comes in time, or who comes gives up.
        """
        ...


@dataclass(frozen=True)
class Doors:
    """The outside world as one sub-goal sees it."""

    desktop: Desktop
    redactor: Redactor
    encoder: Encoder
    model: Model
    policy: Policy
    recorder: Recorder
    now_s: Callable[[], float]
    purse: BudgetStore | None = None
    journal: Journal | None = None
    approver: Approver | None = None
    reader: TextReader | None = None
    spots: ReadsSpots | None = None
    """Reads the control at a point where no program tells of it, if anything can."""
    typed: Callable[[Sequence[Typed]], None] = lambda fields: None
    """Told where secrets show, before the next frame is taken."""
    codes: Codes = NO_CODES
    """The one-time codes that are private; told when one was typed."""
    one_time: SetsAside | None = None
    """Who sets one-time codes aside before they are typed, where a secret is a seed."""
    secret_fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The labels of the only fields that a secret is typed into, by its name."""
    person: Person | None = None
    """Whom the model can ask for, if somebody is waited for."""
    recheck: bool = True
    """Whether the screen is compared, right before input lands, with the frame it was decided on."""
    corrections: int = CORRECTIONS
    """How often a reply that is not a step is sent back, each step, before the sub-goal fails."""
    correction: Correction | None = None
    elements: Elements | None = None
    """What programs tell of their elements, where the desktop can be asked for that."""
    field_text: ReadsField | None = None
    """OCR of the field that was typed into, where no program tells of it."""

    @property
    def tell(self) -> Tell | None:
        """What programs' own words go through before they are known outside; None where they are not to be."""
        return None if self.elements is None else self.elements.tell


@dataclass(frozen=True)
class Intent:
    """An action in the journal, by its number there."""

    journal: Journal
    number: int

    async def done(self) -> None:
        """Write down that input of it was sent."""
        await self.journal.done(self.number)

    async def void(self) -> None:
        """Write down that nothing of it was sent."""
        await self.journal.void(self.number)
