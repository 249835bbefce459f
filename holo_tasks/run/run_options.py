"""Hold the options of a run, shared by `holo_agent`, `open_agent` and the command line.

`RunOptions` is the main class. This module does not import Prefect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holo_tasks.core.elements.inventory import Discover
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.limits.budget import Limits
from holo_tasks.core.person import HandOff
from holo_tasks.loop.ask_model.corrections import CORRECTIONS, check_corrections
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules, Trust

if TYPE_CHECKING:
    from holo_tasks.models.encoding import Tier
    from holo_tasks.run.hooks import Hooks

MAX_STEPS, MOST_STEPS = 50, 10_000


@dataclass(frozen=True)
class RunOptions:
    """Permissions, limits and reporting of a run.

    The run may only look unless ``allow`` or the trust of ``rules`` is "act". If both are set, the stricter one
    applies. ``rules`` set further permissions. ``redaction`` says which parts of a screen are masked before it leaves
    this process.

    ``key`` names the business item in approval questions of sub-goals without their own key. ``limits`` apply to all
    costs under ``budget``, by default the Prefect flow run with its retries. ``max_steps`` applies to each sub-goal
    without its own limit. ``max_corrections`` limits, per step, how often the model is asked to correct its reply. Each
    correction is a model call.

    ``image_quality`` sets the detail of screenshots for the model. "default" suits forms, "dense" suits dense tables,
    and "full" keeps every pixel. ``cache_decisions`` reuses the model's decision if its entire input is the same. With
    ``handoff`` the run waits for a person if the model asks for one or an action needs approval. Without it the work
    ends there. ``hooks`` are called for steps, limits, hand-offs and finished items.

    ``discover`` collects startable programs, open windows and menus for the model, without opening anything.
    ``Discover(recent=("/folder",))`` adds recently used files below that folder.

    ``check_answers`` compares the model's typed texts and answers with the values that its task names. It asks the
    model once more if a typed value differs in one digit, or if the work seems unfinished. Each doubt costs one model
    call.

    Raises `InvalidUsage` for values that are out of range.
    """

    allow: Trust | None = None
    rules: Rules | None = None
    redaction: Redaction | None = None
    key: str = ""
    limits: Limits = field(default_factory=Limits)
    budget: str = ""
    max_steps: int = MAX_STEPS
    max_corrections: int = CORRECTIONS
    image_quality: Tier = "default"
    cache_decisions: bool = False
    handoff: HandOff | bool = False
    hooks: Hooks | None = None
    discover: Discover | bool = False
    check_answers: bool = True

    def __post_init__(self) -> None:
        check_steps("max_steps", self.max_steps)
        check_corrections("max_corrections", self.max_corrections)
        if self.image_quality != "default":
            from holo_tasks.models.encoding import ENCODERS  # imports an image library

            if self.image_quality not in ENCODERS:
                qualities = ", ".join(map(repr, ENCODERS))
                raise InvalidUsage(f"image_quality= is one of {qualities}, not {self.image_quality!r}.")
        _ = self.policy, self.finds_out

    @property
    def policy(self) -> Rules:
        """Return the rules after ``allow`` is applied."""
        return (self.rules or Rules()).under(self.allow)

    @property
    def finds_out(self) -> Discover | None:
        """Return the discovery settings, or ``None``."""
        return Discover.of(self.discover)

    @property
    def waits(self) -> HandOff | None:
        """Return the hand-off settings, or ``None``."""
        return HandOff.of(self.handoff)


def check_steps(name: str, steps: int) -> None:
    """Raise `InvalidUsage` for a step limit out of range; ``name`` is the option's name."""
    if not 1 <= steps <= MOST_STEPS:
        raise InvalidUsage(f"{name} must be from 1 to {MOST_STEPS}, not {steps}.")
