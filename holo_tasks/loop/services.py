"""The outside services that one sub-goal uses: desktop, redactor, model, policy, recorder and others.

`Services` holds them. Every `Walk` has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from holo_tasks.core.elements.known_elements import TextFilter
from holo_tasks.core.elements.named_target import ReadsSpots
from holo_tasks.core.input.gestures import Typed
from holo_tasks.core.input.permit import Policy, TextReader
from holo_tasks.core.ports import (
    ArrangesWindows,
    BudgetStore,
    Desktop,
    Encoder,
    Journal,
    LimitsCodeWindow,
    Recorder,
    Redactor,
)
from holo_tasks.core.prompts.model import Model
from holo_tasks.core.screen.calibration import Correction
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.secrets.codes import NO_CODES, Codes
from holo_tasks.loop.approval import Approver
from holo_tasks.loop.ask_model.corrections import CORRECTIONS
from holo_tasks.loop.element_tree import Elements


@dataclass(frozen=True)
class FieldText:
    """The text that OCR reads in a field.

    ``was_empty`` is whether the field was empty on the screen before. ``is_full`` is whether the text reaches the
    field's end, so that the rest may be hidden. ``is_completed`` is whether the end of the text is selected, as after a
    program has completed it.
    """

    text: str
    was_empty: bool
    is_full: bool
    is_completed: bool = False


class ReadsField(Protocol):
    """Reads the field that was typed into."""

    async def __call__(self, before: Frame, after: Frame, at: Point | None) -> FieldText | None:
        """Return the text of the field at a point or, without one, where the screen changed; ``None`` if unsure."""
        ...

    async def text_in(self, frame: Frame, box: Box) -> str:
        """Return the text in an area; empty if unsure."""
        ...

    async def cell(self, before: Frame, after: Frame, sheet: Box) -> FieldText | None:
        """Return the one text in a drawn sheet that is new or another one than before; ``None`` if unsure."""
        ...


class Person(Protocol):
    """Help of a person that the run waits for."""

    async def help(self, walk: Any, question: str) -> str:
        """Give the screen to a person because the model asks for one; return the text for the model afterwards.

        ``walk`` is the `Walk` that uses these services. Raises `NeedsPerson` without a person in time, or if the person
        gives up.
        """
        ...


@dataclass(frozen=True)
class Services:
    """The outside services that one sub-goal uses. A service is ``None`` if it is not available."""

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
    """Reads the control at a point if no program reports an element there."""
    typed: Callable[[Sequence[Typed]], None] = lambda fields: None
    """Called with the places where typed secrets are visible, before the next frame is taken."""
    codes: Codes = NO_CODES
    """The private one-time codes. It is notified when a code was typed."""
    one_time: LimitsCodeWindow | None = None
    """Reserves one-time codes before they are typed, if a secret is a seed."""
    secret_fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Labels of the only fields that a secret may be typed into, by the secret's name."""
    person: Person | None = None
    """A person whom the model can ask for, if the run waits for people."""
    recheck: bool = True
    """Whether the screen is compared with the frame of the decision right before an input."""
    corrections: int = CORRECTIONS
    """How often an unusable reply is sent back in each step before the sub-goal fails."""
    correction: Correction | None = None
    elements: Elements | None = None
    """The accessibility tree, if the desktop reports one."""
    field_text: ReadsField | None = None
    """Reads the typed-into field by OCR if no program reports the field."""
    screen_text: TextReader | None = None
    """Reads all text of a screen by OCR, for values that no program reports."""

    arranges: ArrangesWindows | None = None
    """Arranges the windows for playbooks. ``None`` if the run is read-only."""

    @property
    def text_filter(self) -> TextFilter | None:
        """Filter for texts of programs before they leave this machine; ``None`` if they must not leave it."""
        return None if self.elements is None else self.elements.text_filter


@dataclass(frozen=True)
class Intent:
    """An entry for an action in the journal, with its number."""

    journal: Journal
    number: int

    async def done(self) -> None:
        """Record that input of the action was sent."""
        await self.journal.done(self.number)

    async def void(self) -> None:
        """Record that no input of the action was sent."""
        await self.journal.void(self.number)
