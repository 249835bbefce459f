"""Declare how a sub-goal is worked on: its effect, its screens and its layers.

`SubgoalOptions` holds the options of ``@subgoal`` and `pursue`. `Effect` declares the change that the sub-goal may
make.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Literal, Self, TypeAlias

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.loop.screens import CheckedScript, Route, Screens, Scripted
from holo_tasks.run.api_layer import Api, is_api
from holo_tasks.run.learn import Learned

MODEL: Literal["model"] = "model"
PERSON: Literal["person"] = "person"
SCRIPT, PLAYBOOK, API = "script", "playbook", "api"
SCRIPTED = (SCRIPT, PLAYBOOK)
"""Layer names of a `Script`: made of a function, or of a playbook."""
Layer: TypeAlias = (
    Literal["model", "person"] | Scripted | Callable[..., Scripted] | Api | Callable[..., Awaitable[Any]] | Learned
)
"""A worker on a sub-goal: the model, a `Script`, a function that makes a script from the arguments, an API or a person.

An API is an async function without ``hands``, or an `Api`.
"""


def _labels(name: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """Return labels as a tuple. A single string is one label, not a sequence of letters.

    Raises `InvalidUsage` for an empty label.
    """
    texts = (given,) if isinstance(given, str) else tuple(given)
    if wrong := [text for text in texts if not isinstance(text, str) or not text.strip()]:
        raise InvalidUsage(f"{name}= holds texts, not {wrong[0]!r}.")
    return texts


class Inherited(Enum):
    """Marker for an option that is inherited from the enclosing sub-goal."""

    AS_AROUND = "as around"


AS_AROUND = Inherited.AS_AROUND


@dataclass(frozen=True)
class Effect:
    """The change that a sub-goal may make, and the protection against making it twice.

    After an interrupted attempt that had acted, ``probe`` is called with the sub-goal's arguments. It returns the
    result if the effect exists, `NOT_DONE` if it certainly does not, and ``None`` if it cannot tell. Without a certain
    answer nothing is repeated, and `NeedsPerson` is raised. ``precondition`` gets the same arguments before interrupted
    work is tried again, and returns whether the screen is ready for it.

    ``press_once`` are labels of controls that cause the effect, such as a button (``"Enter"`` is the key). No such
    control is pressed again until the run knows the outcome, from the end screens or the probe. A click on a
    ``retry_click`` label is repeated once if it changed nothing.

    With ``confirm`` the probe also looks after each answer. `GaveUp` is raised if the effect is certainly missing, and
    `NeedsPerson` if the probe cannot tell. So a success that the model invents is never taken for one.

    With ``changes=False`` the sub-goal only reads, and may be repeated from the start. ``effect=None`` means the same.
    Raises `InvalidUsage` for options that contradict each other.
    """

    probe: Callable[..., Awaitable[Any]] | None = None
    precondition: Callable[..., Awaitable[bool]] | None = None
    press_once: str | Sequence[str] = ()
    retry_click: str | Sequence[str] = ()
    changes: bool = True
    confirm: bool = False

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
                f"{', '.join(sorted(both))} cannot be both in press_once= and in retry_click=: a control that has an "
                "effect is not clicked again."
            )
        if self.confirm and self.probe is None:
            raise InvalidUsage("confirm=True looks for the effect after each answer: say with probe= where to look.")
        if not self.changes and (self.probe or self.precondition or self.press_once):
            raise InvalidUsage(
                "A sub-goal that changes nothing is simply repeated: leave out probe=, precondition= and press_once=, "
                "or leave out changes=False."
            )


ANY_EFFECT = Effect()
"""The effect of a sub-goal that declares none: it may change anything."""
_NO_EFFECT = Effect(changes=False)


@dataclass(frozen=True)
class SubgoalOptions:
    """Options of a sub-goal or of `pursue`. Omitted ones are inherited from the enclosing sub-goal.

    ``screens`` are the program's `Screens`, or a route over them (`Screens.route`). ``layers`` work on the goal in
    order, each after the one before gave up. A layer is ``"model"``, a `Script`, a function that makes a script from
    the arguments, an API (`Api`), or ``"person"``. ``effect`` is the change that the goal may make, or ``None``.
    ``secrets`` are the names of the secrets that the model may type.

    Raises `InvalidUsage` for options that contradict each other.
    """

    screens: Screens | Route | None = None
    layers: Layer | Sequence[Layer] | None = None
    effect: Effect | Literal[Inherited.AS_AROUND] | None = AS_AROUND
    secrets: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.screens is not None and not isinstance(self.screens, Screens | Route):
            raise InvalidUsage(f"screens= is a Screens, or SCREENS.route(begins=…, ends=…), not {self.screens!r}.")
        if self.effect is not AS_AROUND and self.effect is not None and not isinstance(self.effect, Effect):
            raise InvalidUsage(f"effect= is an Effect(…), or None for a sub-goal that only reads, not {self.effect!r}.")
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
        """Return the names of the layers, in order."""
        return tuple(map(_name, self.in_order))

    @property
    def script(self) -> Scripted | None:
        """Return the script among the layers, or ``None``."""
        return next((layer for layer in self.in_order if isinstance(layer, Scripted)), None)

    @property
    def api(self) -> Api | None:
        """Return the API among the layers, or ``None``."""
        return next((layer for layer in self.in_order if isinstance(layer, Api)), None)

    @property
    def press_once(self) -> tuple[str, ...]:
        return tuple(self.declared_effect.press_once)

    @property
    def retry_click(self) -> tuple[str, ...]:
        return tuple(self.declared_effect.retry_click)

    @property
    def declared_effect(self) -> Effect:
        """Return the effect: `ANY_EFFECT` if none was declared, and one without changes for ``effect=None``."""
        if self.effect is None:
            return _NO_EFFECT
        return ANY_EFFECT if self.effect is AS_AROUND else self.effect

    @property
    def in_order(self) -> Sequence[Layer]:
        """Return the layers in order."""
        return (MODEL,) if self.layers is None else self.layers  # type: ignore[return-value]  # a tuple by now

    def inside(self, around: SubgoalOptions) -> SubgoalOptions:
        """Return these options with omitted ones taken from the enclosing sub-goal."""
        return SubgoalOptions(
            screens=around.screens if self.screens is None else self.screens,
            layers=around.layers if self.layers is None else self.layers,
            effect=around.effect if self.effect is AS_AROUND else self.effect,
            secrets=around.secrets if self.secrets is None else self.secrets,
        )

    def check_for_subgoal(self, arguments: Set[str], title: str) -> None:
        """Raise `InvalidUsage` if the API needs arguments that the sub-goal does not have."""
        if self.api is not None:
            self.api.check(arguments, f"‘{title}’")

    def called(self, args: Any, kwargs: Any, given: Mapping[str, Any] = MappingProxyType({})) -> Self:
        """Return the options for one call: scripts are made and checked, and the API is bound.

        ``given`` are the arguments by name, for the API.
        """
        made = [
            layer.called(given)
            if isinstance(layer, Api)
            else layer
            if _is_ready(layer)
            else _make_script(layer, args, kwargs)
            for layer in self.in_order
        ]
        return replace(self, layers=tuple(made))

    def check_for_pursue(self) -> None:
        """Raise `InvalidUsage` for options that need a sub-goal's arguments, which `pursue` does not have."""
        if not all(map(_is_ready, self.in_order)):
            raise InvalidUsage(
                "pursue() has no arguments to make a script of: give it the Script itself, or put the function into "
                "@subgoal(layers=[…])."
            )
        if self.api is not None:
            self.api.check(set(), "pursue() has no arguments to call it with: put it into @subgoal(layers=[…]); this")
        if self.declared_effect.probe or self.declared_effect.precondition:
            raise InvalidUsage(
                "A probe and a precondition are called with the arguments of a sub-goal: give them to "
                "@subgoal(effect=Effect(…)), not to pursue()."
            )


def _is_ready(layer: Any) -> bool:
    return isinstance(layer, str | Scripted | Api)


def _name(layer: Any) -> str:
    """Return the name of a layer. A function that makes a script counts as a script before its call."""
    if isinstance(layer, str | Api):
        return layer if isinstance(layer, str) else API
    return PLAYBOOK if isinstance(layer, Learned) else getattr(layer, "layer", SCRIPT)


def _make_script(make: Any, args: Any, kwargs: Mapping[str, Any]) -> Scripted:
    script = make(*args, **kwargs)
    if not isinstance(script, Scripted):
        raise InvalidUsage(
            f"A function in layers= makes a Script of the sub-goal's arguments, not {script!r}. If it is the program's "
            "API, write `async def`, or wrap it in Api(…) if it does not look async."
        )
    if isinstance(script, CheckedScript):
        script.check_values()
    return script


def _layers(given: Any) -> tuple[Layer, ...]:
    """Return layers as a tuple. Raises `InvalidUsage` for an unknown layer or a wrong order."""
    one = isinstance(given, str | Scripted | Api | Learned) or callable(given)
    # An async function is an API, since a function that makes a script is called and not awaited.
    layers = tuple(
        Api(layer) if is_api(layer) and not isinstance(layer, Api | Scripted) else layer
        for layer in ((given,) if one else tuple(given))
    )
    for layer in layers:
        if layer == API:
            raise InvalidUsage("Put the API's function itself into layers=, instead of 'api'.")
        if layer in SCRIPTED:
            raise InvalidUsage(f"Put the Script(…) itself into layers=, instead of {layer!r}.")
        if layer not in (MODEL, PERSON) and not isinstance(layer, Scripted | Api | Learned) and not callable(layer):
            raise InvalidUsage(
                f"layers= holds 'model', a Script, the async function of an API, 'person', not {layer!r}."
            )
        if isinstance(layer, CheckedScript):
            layer.check_values()
    names = [SCRIPT if name in SCRIPTED else name for name in map(_name, layers)]
    if not names or len(set(names)) < len(names):
        raise InvalidUsage("layers= holds at least one of the model, a script, an API and a person, each at most once.")
    if PERSON in names[:-1]:
        raise InvalidUsage("A person is asked last: put 'person' at the end of layers=.")
    return layers
