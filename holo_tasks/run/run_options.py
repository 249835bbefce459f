"""What a run is asked for, whoever asks: a flow by `holo_agent` or `open_agent`, or the command; free of Prefect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holo_tasks.core.budget import Limits
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.inventory import Discover
from holo_tasks.core.person import HandOff
from holo_tasks.loop.corrections import CORRECTIONS, check_corrections
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules, Trust

if TYPE_CHECKING:
    from holo_tasks.models.encoding import Tier
    from holo_tasks.run.hooks import Hooks

MAX_STEPS, MOST_STEPS = 50, 10_000


@dataclass(frozen=True)
class RunOptions:
    """What a run may do, what it may spend, and whom it asks and tells.

    It looks only, unless ``allow="act"``. ``rules`` say what else is allowed; where they and ``allow`` both speak of
    trust, the stricter counts. ``redaction`` says what is painted over before a screen leaves this process.

    ``key`` names the business item that a yes is asked for, in sub-goals that have no key of their own. ``limits`` hold
    over all that was ever spent under ``budget``; that is the Prefect flow run, its retries included, unless another is
    named. ``max_steps`` is for each sub-goal that does not say otherwise. ``max_corrections`` is how often, each step,
    the model is told what is wrong with its reply; each is a call.

    ``image_quality`` is how finely the model is shown the screen: "default" is enough for forms, "dense" for dense
    tables, "full" is every pixel. ``cache_decisions`` lets the model's decisions be reused where everything it was
    shown is the same. ``handoff`` makes the agent wait for a person where the model asks for one, and where an action
    needs a yes; else the work ends there. ``hooks`` are told of steps, limits, hand-offs and finished items.
    ``discover`` has it find out, without opening anything, which programs can be started and which windows and menus
    there are, with ``Discover(recent=("/folder",))`` also recently used files below that folder, and tells the model.

    Raises `InvalidUsage` for what cannot be.
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

    def __post_init__(self) -> None:
        check_steps("max_steps", self.max_steps)
        check_corrections("max_corrections", self.max_corrections)
        if self.image_quality != "default":
            from holo_tasks.models.encoding import ENCODERS  # loads a picture library

            if self.image_quality not in ENCODERS:
                qualities = ", ".join(map(repr, ENCODERS))
                raise InvalidUsage(f"image_quality= is one of {qualities}, not {self.image_quality!r}.")
        _ = self.policy, self.finds_out

    @property
    def policy(self) -> Rules:
        """What is allowed, all in all."""
        return (self.rules or Rules()).under(self.allow)

    @property
    def finds_out(self) -> Discover | None:
        """What is found out before the work begins, if anything is."""
        return Discover.of(self.discover)

    @property
    def waits(self) -> HandOff | None:
        """How persons are waited for, if they are."""
        return HandOff.of(self.handoff)


def check_steps(name: str, steps: int) -> None:
    """Raise `InvalidUsage` for a limit of steps that cannot be; ``name`` is the option's."""
    if not 1 <= steps <= MOST_STEPS:
        raise InvalidUsage(f"{name} must be from 1 to {MOST_STEPS}, not {steps}.")
