"""What a sub-goal declares of how it is worked on: its effect, its screens, and who works on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Literal, Self, TypeAlias

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.loop.screens import Checked, Route, Screens, Scripted
from holo_tasks.run.api_layer import Api, is_api
from holo_tasks.run.learn import Learned

MODEL: Literal["model"] = "model"
PERSON: Literal["person"] = "person"
SCRIPT, PLAYBOOK, API = "script", "playbook", "api"
SCRIPTED = (SCRIPT, PLAYBOOK)
"""What a `Script` is called among the layers: of a function, and of a playbook."""
Layer: TypeAlias = (
    Literal["model", "person"] | Scripted | Callable[..., Scripted] | Api | Callable[..., Awaitable[Any]] | Learned
)
"""Who works on a sub-goal: the model, a `Script`, a function that makes one of the sub-goal's arguments, the program's
API (an async function without hands, or `Api`), a person."""


def _labels(name: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """Return texts as a tuple; a single one is not taken for its letters, which would guard nothing."""
    texts = (given,) if isinstance(given, str) else tuple(given)
    if wrong := [text for text in texts if not isinstance(text, str) or not text.strip()]:
        raise InvalidUsage(f"{name}= holds texts, not {wrong[0]!r}.")
    return texts


class AsAround(Enum):
    """Stands for what is left as the sub-goal around it declares it."""

    AS_AROUND = "as around"


AS_AROUND = AsAround.AS_AROUND


@dataclass(frozen=True)
class Effect:
    """What a sub-goal may change in the world, and what keeps that from happening twice.

    When an attempt was interrupted after it acted, ``probe`` is called with the sub-goal's arguments: it returns the
    result if the effect is there, `NOT_DONE` if it is certain that it is not, and None if it cannot tell. Without a
    certain word nothing is repeated: `NeedsPerson`. ``precondition`` is called like it before an interrupted sub-goal
    is worked on again, and says whether the screen is as it must be.

    ``press_once`` are labels of what has the effect, such as a button (``"Enter"`` is the key): none of them is pressed
    again before the run has seen what came of it, by the screens where the work ends or by the probe. A click on one of
    ``retry_click`` that changed nothing is done once more.

    With ``changes=False`` the sub-goal only looks things up, and may be done again from the start: ``effect=None`` says
    the same. Raises `InvalidUsage` for what does not fit together.
    """

    probe: Callable[..., Awaitable[Any]] | None = None
    precondition: Callable[..., Awaitable[bool]] | None = None
    press_once: str | Sequence[str] = ()
    retry_click: str | Sequence[str] = ()
    changes: bool = True

    def __post_init__(self) -> None:
        for name in ("probe", "precondition"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise InvalidUsage(
                    f"{name}= is an async function with the arguments of the sub-goal, not {given!r}: give the "
                    "function itself."
                )
        for name in ("press_once", "retry_click"):
            object.__setattr__(self, name, _labels(name, getattr(self, name)))
        if both := set(self.press_once) & set(self.retry_click):
            raise InvalidUsage(
                f"{', '.join(sorted(both))} cannot be both in press_once= and in retry_click=: what has an effect is "
                "not clicked again."
            )
        if not self.changes and (self.probe or self.precondition or self.press_once):
            raise InvalidUsage(
                "What changes nothing is simply done again: leave probe=, precondition= and press_once= away, or leave "
                "changes=False away."
            )


ANY_EFFECT = Effect()
"""What a sub-goal that says nothing of its effect is taken to have."""
_NO_EFFECT = Effect(changes=False)


@dataclass(frozen=True)
class SubgoalOptions:
    """How a goal is worked on; what is left out is as the sub-goal around it has it.

    ``screens`` are the program's, as `Screens`, or as the route of a sub-goal over them (`Screens.route`). ``layers``
    are who works on it, one after the other as each gives up: ``"model"``, a `Script` or a function that makes one of
    the sub-goal's arguments, an async function without hands, which is the program's API (`Api`), ``"person"``.
    ``effect`` is what it may change, or None. ``secrets`` are the names of
    those that the model may have typed. Raises `InvalidUsage` for what does not fit together.
    """

    screens: Screens | Route | None = None
    layers: Layer | Sequence[Layer] | None = None
    effect: Effect | Literal[AsAround.AS_AROUND] | None = AS_AROUND
    secrets: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.screens is not None and not isinstance(self.screens, Screens | Route):
            raise InvalidUsage(f"screens= is a Screens, or SCREENS.route(begins=…, ends=…), not {self.screens!r}.")
        if self.effect is not AS_AROUND and self.effect is not None and not isinstance(self.effect, Effect):
            raise InvalidUsage(f"effect= is an Effect(…), or None for what only looks things up, not {self.effect!r}.")
        if self.layers is not None:
            object.__setattr__(self, "layers", _layers(self.layers))
        if self.secrets is not None:
            object.__setattr__(self, "secrets", _labels("secrets", self.secrets))

    @property
    def known_screens(self) -> Screens | None:
        return self.screens.screens if isinstance(self.screens, Route) else self.screens

    @property
    def begins(self) -> str:
        return self.screens.begins if isinstance(self.screens, Route) else ""

    @property
    def ends(self) -> tuple[str, ...]:
        return self.screens.ends if isinstance(self.screens, Route) else ()

    @property
    def order(self) -> tuple[str, ...]:
        """The layers by their names."""
        return tuple(map(_name, self.in_order))

    @property
    def script(self) -> Scripted | None:
        """The script among the layers."""
        return next((layer for layer in self.in_order if isinstance(layer, Scripted)), None)

    @property
    def api(self) -> Api | None:
        """The program's API among the layers."""
        return next((layer for layer in self.in_order if isinstance(layer, Api)), None)

    @property
    def press_once(self) -> tuple[str, ...]:
        return tuple(self.what_it_changes.press_once)

    @property
    def retry_click(self) -> tuple[str, ...]:
        return tuple(self.what_it_changes.retry_click)

    @property
    def what_it_changes(self) -> Effect:
        """The effect, also of what says nothing of it, which may have one, and of what has none."""
        if self.effect is None:
            return _NO_EFFECT
        return ANY_EFFECT if self.effect is AS_AROUND else self.effect

    @property
    def in_order(self) -> Sequence[Layer]:
        """The layers."""
        return (MODEL,) if self.layers is None else self.layers  # type: ignore[return-value]  # a tuple by now

    def inside(self, around: SubgoalOptions) -> SubgoalOptions:
        """Return these options, filled in by those of the sub-goal around."""
        return SubgoalOptions(
            screens=around.screens if self.screens is None else self.screens,
            layers=around.layers if self.layers is None else self.layers,
            effect=around.effect if self.effect is AS_AROUND else self.effect,
            secrets=around.secrets if self.secrets is None else self.secrets,
        )

    def check_for_subgoal(self, arguments: Set[str], title: str) -> None:
        """Raise `InvalidUsage` if the API cannot be called with arguments of these names."""
        if self.api is not None:
            self.api.check(arguments, f"‘{title}’")

    def called(self, args: Any, kwargs: Any, given: Mapping[str, Any] = MappingProxyType({})) -> Self:
        """Return these options for a call of the sub-goal: its script is made, and checked as it is made.

        ``given`` are the arguments by name, for its API.
        """
        made = [
            layer.called(given) if isinstance(layer, Api) else layer if _is_ready(layer) else _made(layer, args, kwargs)
            for layer in self.in_order
        ]
        return replace(self, layers=tuple(made))

    def check_for_pursue(self) -> None:
        """Raise `InvalidUsage` for what is called with a sub-goal's arguments, where there are none."""
        if not all(map(_is_ready, self.in_order)):
            raise InvalidUsage(
                "pursue() has no arguments to make a script of: give it the Script itself, or put the function into "
                "@subgoal(layers=[…])."
            )
        if self.api is not None:
            self.api.check(set(), "pursue() has no arguments to call it with: put it into @subgoal(layers=[…]); this")
        if self.what_it_changes.probe or self.what_it_changes.precondition:
            raise InvalidUsage(
                "A probe and a precondition are called with the arguments of a sub-goal: give them to "
                "@subgoal(effect=Effect(…)), not to pursue()."
            )


def _is_ready(layer: Any) -> bool:
    return isinstance(layer, str | Scripted | Api)


def _name(layer: Any) -> str:
    """Return what a layer is called; what makes a script tells its name only when it was called."""
    if isinstance(layer, str | Api):
        return layer if isinstance(layer, str) else API
    return PLAYBOOK if isinstance(layer, Learned) else getattr(layer, "layer", SCRIPT)


def _made(make: Any, args: Any, kwargs: Mapping[str, Any]) -> Scripted:
    script = make(*args, **kwargs)
    if not isinstance(script, Scripted):
        raise InvalidUsage(
            f"A function in layers= makes a Script of the sub-goal's arguments, not {script!r}. If it is the program's "
            "API, write `async def`, or Api(…) around what is not seen to be async."
        )
    if isinstance(script, Checked):
        script.check_values()
    return script


def _layers(given: Any) -> tuple[Layer, ...]:
    """Return layers as a tuple; raise `InvalidUsage` for what cannot work on a sub-goal, or not in this order."""
    one = isinstance(given, str | Scripted | Api | Learned) or callable(given)
    # An async function stands for an API: what makes a script is called, not awaited.
    layers = tuple(
        Api(layer) if is_api(layer) and not isinstance(layer, Api | Scripted) else layer
        for layer in ((given,) if one else tuple(given))
    )
    for layer in layers:
        if layer == API:
            raise InvalidUsage("An API stands in layers= itself: put the function itself there instead of 'api'.")
        if layer in SCRIPTED:
            raise InvalidUsage(f"A script stands in layers= itself: put the Script(…) there instead of {layer!r}.")
        if layer not in (MODEL, PERSON) and not isinstance(layer, Scripted | Api | Learned) and not callable(layer):
            raise InvalidUsage(
                f"layers= holds 'model', a Script, the async function of an API, 'person', not {layer!r}."
            )
        if isinstance(layer, Checked):
            layer.check_values()
    names = [SCRIPT if name in SCRIPTED else name for name in map(_name, layers)]
    if not names or len(set(names)) < len(names):
        raise InvalidUsage(
            "layers= holds the model, one script, one API and a person, each once, and at least one of them."
        )
    if PERSON in names[:-1]:
        raise InvalidUsage("A person is asked last: put 'person' at the end of layers=.")
    return layers
