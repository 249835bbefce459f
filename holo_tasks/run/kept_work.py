"""What is kept of a piece of work under its token, and how it is found again."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any, Self

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from holo_tasks.core.error_text import first_line
from holo_tasks.core.errors import HoloError, InvalidUsage, StoreLost
from holo_tasks.core.input_digest import digest_of
from holo_tasks.core.outside import fill_in
from holo_tasks.run.secret_filter import as_name
from holo_tasks.safety.ledger import Finished, Ledger, Work
from holo_tasks.safety.scrubbing import check_open


@dataclass(frozen=True)
class Call:
    """A call of some work: its arguments by name, and what they come to."""

    given: dict[str, Any]
    token: str
    """The business item; empty for work without one."""
    title: str
    inputs: str
    """The digest of the arguments that count; empty without a token."""


@dataclass(frozen=True)
class Found:
    """What a call came to in an earlier run."""

    call: Call
    done: Finished
    result: Any


@dataclass(frozen=True)
class Kept:
    """What is needed to find the result of a function's call in the ledger."""

    goal: str
    same: Work
    signature: inspect.Signature
    token: str | None
    inputs: Sequence[str] | None
    title: str
    returns: TypeAdapter[Any]
    schema: dict[str, Any] | None
    """The JSON schema of a result, if it has one."""

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        *,
        token: str | None,
        title: str | None,
        inputs: Sequence[str] | None,
        work: Work,
    ) -> Self:
        """Describe a function; ``token`` and ``title`` are format strings over its arguments."""
        signature = inspect.signature(function)
        named = (inputs,) if isinstance(inputs, str) else inputs
        if strange := sorted(set(named or ()) - signature.parameters.keys()):
            raise InvalidUsage(f"inputs= names arguments of {function.__name__!r}; there is no {strange[0]!r}.")
        if token is not None and not token.strip():
            raise InvalidUsage(f"The key of {function.__name__!r} is empty: all calls would be one item.")
        goal = function.__name__.replace("_", " ")
        first = next(iter(signature.parameters), None)
        returns = TypeAdapter(inspect.get_annotations(function, eval_str=True).get("return", Any))
        return cls(
            goal=goal,
            same=work,
            signature=signature,
            token=token,
            inputs=named,
            title=title or (f"{goal} {{{first}}}" if first else goal),
            returns=returns,
            schema=_schema_of(returns),
        )

    def call(self, args: Any, kwargs: Any) -> Call:
        """Return what a call comes to. Raises `InvalidUsage` for a token or a title that cannot be filled in."""
        given = bound(self.signature, args, kwargs)
        token = filled_token(self.token, given) if self.token else ""
        named = given if self.inputs is None else {name: given[name] for name in self.inputs}
        return Call(given, token, as_name(fill(self.title, given, fill_in)), digest_of(named) if token else "")

    def found(self, ledger: Ledger, args: Any, kwargs: Any) -> Found | None:
        """Return what the ledger has for a call; None if that is nothing, or nothing that can be handed on as it is.

        Raises `StoreLost` if that cannot be known.
        """
        try:
            call = self.call(args, kwargs)
            done = ledger.find(call.token, self.goal, call.inputs, self.same) if call.token else None
            return None if done is None else Found(call, done, self.read(call.token, done))
        except StoreLost:
            raise
        except (HoloError, TypeError):  # whoever begins the work tells what is wrong
            return None

    def read(self, token: str, done: Finished) -> Any:
        """Return a stored result. Raises `InvalidUsage` if it is not what the work returns by now."""
        try:
            return self.returns.validate_json(done.result)
        except ValidationError as error:
            raise InvalidUsage(
                f"What is stored as the result of {self.goal!r} for {token!r} is not what it returns by now: "
                f"{first_line(error)}."
            ) from None

    def resume(self, call: Call) -> Mapping[str, Any]:
        """Return what is needed to take a person's word for the result."""
        if self.schema is None:
            return {}
        return {"goal": self.goal, "inputs": call.inputs, "returns": self.schema}


def bound(signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return a call's arguments by name, defaults filled in."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def filled_token(template: str, given: dict[str, Any]) -> str:
    """Fill in a token; none where all it is made of is None. An empty or half-empty one is refused."""
    parsed = Formatter()
    try:
        parts = [parsed.get_field(name, (), given)[0] for _, name, _, _ in parsed.parse(template) if name is not None]
    except (KeyError, IndexError, AttributeError, ValueError):
        return check_open(f"The key {template!r}", fill(template, given))
    if parts and all(part is None for part in parts):
        return ""
    filled = fill(template, given).strip()
    if not filled or any(part is None or part == "" for part in parts):
        raise InvalidUsage(
            f"The key {template!r} comes to {filled!r}, which two items may share. Fill in its arguments, or make "
            "them None to work without a key."
        )
    return check_open(f"The key {template!r}", filled)


def fields_of(template: str) -> frozenset[str]:
    """Return the arguments that a format string is filled in from."""
    fields = (name for _, name, _, _ in Formatter().parse(template) if name is not None)
    return frozenset(re.split(r"[.\[]", name, maxsplit=1)[0] for name in fields)


def fill(template: str, given: dict[str, Any], how: Callable[..., str] = str.format) -> str:
    """Fill a format string in from a call's arguments."""
    try:
        return how(template, **given)
    except (KeyError, IndexError, AttributeError, ValueError) as error:
        raise InvalidUsage(f"{template!r} cannot be filled in from the arguments ({error!r}).") from None


def _schema_of(returns: TypeAdapter[Any]) -> dict[str, Any] | None:
    try:
        return returns.json_schema()
    except PydanticUserError:
        return None


def check_template(what: str, template: str | None, signature: inspect.Signature) -> None:
    """Raise `InvalidUsage` for a format string that no call's arguments can fill in."""
    try:
        strange = sorted(fields_of(template or "") - signature.parameters.keys())
    except ValueError as error:
        raise InvalidUsage(f"{what} is no format string: {error}, in {template!r}.") from None
    if strange:
        raise InvalidUsage(
            f"{what} names {f'{{{strange[0]}}}'}, and the function has no such argument: {template!r} can name "
            f"{', '.join(signature.parameters) or 'none'}."
        )
