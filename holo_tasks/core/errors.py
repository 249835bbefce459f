"""Everything that can go wrong, by what should happen next.

Each class carries the ``status`` a run ends with and the command line's exit code. A message is
one sentence that says what to do. ``transient`` alone decides whether a retry makes sense.
"""

from __future__ import annotations

from typing import Any, ClassVar


class HoloError(Exception):
    """Root of every error this library raises on purpose.

    ``http_status`` is what a server answered, if that is what went wrong. ``maybe_billed`` says that a request was
    sent and nobody knows whether it will be on the bill.
    """

    status: ClassVar[str] = "invalid"
    exit_code: ClassVar[int] = 2
    transient: ClassVar[bool] = False
    http_status: int | None = None
    maybe_billed: bool = False
    half_done: bool = False
    """Something may have been done for a business item before this happened, whatever the class says."""
    typed: tuple[Any, ...] = ()
    """Where secrets show that were typed before this happened, as `gestures.Typed`; a cancellation may have it, too."""


class InvalidUsage(HoloError):
    """The request or the configuration is wrong; nothing was started."""


class UnfitItem(InvalidUsage):
    """What one business item says does not fit the work asked for: only that item is left for a person."""


class BusinessFailure(UnfitItem):
    """The business item is wrong, as one that names an account which is closed: no further try helps, and a person has
    to see to it. Work on an item of a `WorkList` raises it; whatever else goes wrong there is tried again."""


class TokenConflict(InvalidUsage):
    """A business token was used before with other inputs."""


class Unavailable(InvalidUsage):
    """What is needed is away or overloaded, and nothing is wrong with what was asked for; nothing was started, either.

    Of Prefect's server, the database and the place of the evidence.
    """

    status = "unavailable"
    exit_code = 16


class StoreLost(InvalidUsage):
    """The database that runs share cannot be used: no action is begun, and none is taken for not done."""


class DatabaseAway(StoreLost, Unavailable):
    """It cannot be used now, and may be later: its server is away, busy or starting."""


class LimitReached(HoloError):
    """A guardrail stopped the work: money, actions, calls, steps or time.

    ``limit`` names it as in `Limits`, ``scope`` what it was set for; a limit on one goal's steps has no scope.
    """

    status = "limit"
    exit_code = 10

    def __init__(
        self, message: str, *, limit: str = "limit", scope: str = "", partial_answer: str | None = None
    ) -> None:
        super().__init__(message)
        self.limit = limit
        self.scope = scope
        self.partial_answer = partial_answer


class NeedsPerson(HoloError):
    """The work cannot go on without a person. ``handoff`` names the hand-off that came to nothing, if there was one."""

    status = "needs_person"
    exit_code = 11
    handoff: str = ""


class GaveUp(NeedsPerson):
    """A layer could not finish a sub-goal; the next one may. ``layer`` is the one that gave up.

    The function of an API raises it to say that it did nothing, and that the next layer has its turn.
    """

    def __init__(self, message: str, *, layer: str = "") -> None:
        super().__init__(message)
        self.layer = layer


class ScreenHeld(NeedsPerson):
    """A person has the screen: no input was sent, and no picture was taken."""


class PolicyRefused(HoloError):
    """The action is not allowed here."""

    status = "refused"
    exit_code = 12


class SecretRefused(PolicyRefused):
    """A secret is not typed into this window, and the model may do something else.

    No input event was sent, except where ``typed`` says what shows: it went to another field than its own.
    """


class RedactionFailed(PolicyRefused):
    """What must not leave the machine could not be found on a screen, so nothing of it was sent."""


class Killed(HoloError):
    """The kill switch, a cancel or a signal stopped the run."""

    status = "killed"
    exit_code = 13


class ModelFailed(HoloError):
    """The model or its endpoint did not give a usable answer."""

    status = "model_failed"
    exit_code = 14


class TransientModelFault(ModelFailed):
    """The endpoint failed in a way that may pass: overloaded, restarting, connection dropped."""

    transient = True

    def __init__(self, message: str, *, retry_after_s: float | None = None, maybe_billed: bool = False) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.maybe_billed = maybe_billed


class UnusableReply(ModelFailed):
    """The reply is not a step: babble, cut off, outside the schema or off the picture.

    ``correction`` is what the model is told before it is asked again, about ``tool`` if it named one.
    """

    def __init__(self, message: str, *, correction: str, tool: str = "format") -> None:
        super().__init__(message)
        self.correction = correction
        self.tool = tool


class UnsureReply(UnusableReply):
    """The model says itself that it is not sure enough of this action."""


class ScreenChanged(HoloError):
    """The screen is not any more, where input was about to go, what it was decided on; nothing was pressed."""

    status = "desktop_failed"
    exit_code = 15


class DesktopFailed(HoloError):
    """The screen, its program or its input is gone or never came up."""

    status = "desktop_failed"
    exit_code = 15
