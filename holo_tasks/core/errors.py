"""All errors of the library, grouped by their consequence.

Each class carries the ``status`` that a run ends with and the exit code of the command line. A message is one sentence
that says what to do. ``transient`` decides whether the same call is retried at once, ``lasting`` whether Prefect
repeats a flow or task. Later tries of an item of a `WorkList` are another matter: see `BusinessFailure`.
"""

from __future__ import annotations

from typing import Any, ClassVar

_BEGIN_AGAIN = frozenset({"timeout_seconds", "deadline", "max_calls_per_5_minutes"})
"""Limits on time. Each attempt has its own time, or waiting is enough."""


class HoloError(Exception):
    """Base class of every error that this library raises on purpose.

    ``http_status`` is the status of a server's error response. ``maybe_billed`` is true if a request was sent and may
    be billed.
    """

    status: ClassVar[str] = "invalid"
    exit_code: ClassVar[int] = 2
    transient: ClassVar[bool] = False
    http_status: int | None = None
    maybe_billed: bool = False
    lasting: bool = False
    """Whether a retry would fail in the same way, so that Prefect does not retry the flow or task."""
    half_done: bool = False
    """Whether an effect on a business item may have happened before the error, whatever its class."""
    typed: tuple[Any, ...] = ()
    """Places where secrets typed before the error show, as `gestures.Typed`. A cancellation may have this attribute as
    well.
    """


class InvalidUsage(HoloError):
    """Nothing was started, mostly because the request or the configuration is wrong."""

    lasting = True


class UnfitItem(InvalidUsage):
    """The content of one business item does not fit the requested work. Only that item is left for a person."""


class BusinessFailure(UnfitItem):
    """The business item is wrong, for example because it names a closed account.

    Retrying does not help; a person must handle it.

    A flow's function for the items of a `WorkList` raises it. The list tries the item again later after most other
    errors.
    """


class TokenConflict(InvalidUsage):
    """The key of a business item (its token) was used before with other inputs."""


class Unavailable(InvalidUsage):
    """Nothing was started, because a required service is down or overloaded. The request itself is valid.

    The service is Prefect's server, the database or the destination of the traces.
    """

    status = "unavailable"
    exit_code = 16
    lasting = False


class StoreLost(InvalidUsage):
    """The shared database cannot be used. No action is started, and an action in doubt counts as possibly done."""

    lasting = False


class DatabaseAway(StoreLost, Unavailable):
    """The shared database cannot be used at the moment: its server is down, busy or starting."""


class LimitReached(HoloError):
    """A limit stopped the work: money, actions, calls, steps or time.

    ``limit`` is its name in `Limits`, and ``scope`` the name of its scope. A limit on the steps of one goal has no
    scope.
    """

    status = "limit"
    exit_code = 10
    lasting = True

    def __init__(
        self, message: str, *, limit: str = "limit", scope: str = "", partial_answer: str | None = None
    ) -> None:
        super().__init__(message)
        self.limit = limit
        self.lasting = limit not in _BEGIN_AGAIN
        self.scope = scope
        self.partial_answer = partial_answer


class NeedsPerson(HoloError):
    """The work cannot continue without a person.

    ``handoff`` is the id of the hand-off that failed, if there was one.
    """

    status = "needs_person"
    exit_code = 11
    lasting = True
    handoff: str = ""


class GaveUp(NeedsPerson):
    """A layer could not finish a sub-goal, and the next layer is tried. After the last layer, a person is needed.

    ``layer`` is the name of the layer that gave up.

    The function of an API layer raises it if it has done nothing and the next layer may try.
    """

    def __init__(self, message: str, *, layer: str = "") -> None:
        super().__init__(message)
        self.layer = layer


class ScreenHeld(NeedsPerson):
    """A person has the screen. No input was sent, and no picture was taken."""

    lasting = False


class PolicyRefused(HoloError):
    """The rules do not allow the action."""

    status = "refused"
    exit_code = 12
    lasting = True


class SecretRefused(PolicyRefused):
    """A secret may not be typed into this window. The model may do something else.

    No input event was sent, unless ``typed`` lists places: then the secret went to a field that is not its own.
    """


class RedactionFailed(PolicyRefused):
    """Private content could not be located on a screen, so the screen was not sent."""


class Killed(HoloError):
    """The kill switch, a cancellation or a signal stopped the run."""

    status = "killed"
    exit_code = 13
    lasting = True


class ModelFailed(HoloError):
    """The model or its endpoint gave no usable answer."""

    status = "model_failed"
    exit_code = 14


class TransientModelFault(ModelFailed):
    """The endpoint failed temporarily: it was overloaded or restarting, or the connection dropped."""

    transient = True

    def __init__(self, message: str, *, retry_after_s: float | None = None, maybe_billed: bool = False) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.maybe_billed = maybe_billed


class UnusableReply(ModelFailed):
    """The reply is not a step: it is malformed, cut off, outside the schema or off the picture.

    ``correction`` is the text for the model before it is asked again. ``tool`` is the tool that the reply named, or
    "format" if it named none.
    """

    def __init__(self, message: str, *, correction: str, tool: str = "format") -> None:
        super().__init__(message)
        self.correction = correction
        self.tool = tool


class UnsureReply(UnusableReply):
    """The model itself reports too little confidence in this action."""


class ScreenChanged(HoloError):
    """The target of the input looks different from the screen that the input was decided on. Nothing was pressed."""

    status = "desktop_failed"
    exit_code = 15


class DesktopFailed(HoloError):
    """The screen, its program or its input failed or never started."""

    status = "desktop_failed"
    exit_code = 15
