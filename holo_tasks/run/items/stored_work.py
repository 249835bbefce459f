"""Describe a piece of work whose result is stored under a token, and find the stored result of a call.

`StoredFunction` describes a step or a sub-goal. Its tokens and titles are format strings over the call's arguments.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any, Self

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from holo_tasks.core.errors import HoloError, InvalidUsage, StoreLost
from holo_tasks.core.input_digest import digest_of
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.core.texts.key_text import key_text
from holo_tasks.core.texts.outside_text import fill_in
from holo_tasks.run.prefect_edge.secret_filter import as_name
from holo_tasks.safety.records.ledger import Finished, Ledger, WorkIdentity
from holo_tasks.safety.scrubbing import check_open


@dataclass(frozen=True)
class Call:
    """A call of some work: its arguments by name, and the token, title and digest made from them."""

    given: dict[str, Any]
    token: str
    """The business item's token; empty for work without an item."""
    title: str
    inputs: str
    """The digest of the arguments that count; empty without a token."""


@dataclass(frozen=True)
class StoredResult:
    """The stored result of a call from an earlier run."""

    call: Call
    done: Finished
    result: Any


@dataclass(frozen=True)
class StoredFunction:
    """The description of a function that is needed to find the result of a call in the ledger.

    ``same`` identifies the function, ``token`` and ``title`` are format strings, and ``inputs`` names the arguments in
    the digest (``None`` for all).
    """

    goal: str
    same: WorkIdentity
    signature: inspect.Signature
    token: str | None
    inputs: Sequence[str] | None
    title: str
    returns: TypeAdapter[Any]
    schema: dict[str, Any] | None
    """The JSON schema of a result, or ``None`` if its type has no schema."""

    @classmethod
    def describe(
        cls,
        function: Callable[..., Any],
        *,
        token: str | None,
        title: str | None,
        inputs: Sequence[str] | None,
        work: WorkIdentity,
    ) -> Self:
        """Describe a function. ``token`` and ``title`` are format strings over its arguments.

        Raises `InvalidUsage` if ``inputs`` names an unknown argument or the token is empty.
        """
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
        """Return the call's token, title and digest. Raises `InvalidUsage` if a token or title cannot be filled in."""
        given = bound(self.signature, args, kwargs)
        token = filled_token(self.token, given) if self.token else ""
        named = given if self.inputs is None else {name: given[name] for name in self.inputs}
        return Call(given, token, as_name(fill(self.title, given, fill_in)), digest_of(named) if token else "")

    def found(self, ledger: Ledger, args: Any, kwargs: Any) -> StoredResult | None:
        """Return the stored result of a call, or ``None`` if the ledger has no usable one.

        Raises `StoreLost` if the ledger cannot be read. Other errors count as no result, because the caller that begins
        the work reports them.
        """
        try:
            call = self.call(args, kwargs)
            done = ledger.find(call.token, self.goal, call.inputs, self.same) if call.token else None
            return None if done is None else StoredResult(call, done, self.read(call.token, done))
        except StoreLost:
            raise
        except (HoloError, TypeError):  # the caller that begins the work reports the error
            return None

    def read(self, token: str, done: Finished) -> Any:
        """Return a stored result. Raises `InvalidUsage` if it does not fit the function's current return type."""
        try:
            return self.returns.validate_json(done.result)
        except ValidationError as error:
            raise InvalidUsage(
                f"The stored result of {self.goal!r} for {token!r} does not fit its present return type: "
                f"{first_line(error)}."
            ) from None

    def resume(self, call: Call) -> Mapping[str, Any]:
        """Return the fields that the command line needs to accept a person's answer as the result."""
        if self.schema is None:
            return {}
        return {"goal": self.goal, "inputs": call.inputs, "returns": self.schema}


def bound(signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return a call's arguments by name, with defaults filled in."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def filled_token(template: str, given: dict[str, Any]) -> str:
    """Return the token for a call's arguments, or an empty string if all of its fields are ``None``.

    Raises `InvalidUsage` if the token is empty or some of its fields are, since two items could then share it. A token
    with a secret's value is refused as well.
    """
    parsed = Formatter()
    try:
        parts = [parsed.get_field(name, (), given)[0] for _, name, _, _ in parsed.parse(template) if name is not None]
    except (KeyError, IndexError, AttributeError, ValueError):
        return check_open(f"The key {template!r}", key_text(fill(template, given)))
    if parts and all(part is None for part in parts):
        return ""
    filled = key_text(fill(template, given))
    if not filled or any(part is None or part == "" for part in parts):
        raise InvalidUsage(
            f"The key {template!r} gives {filled!r}, which two items may share. Fill in its arguments, or make them "
            "None to work without a key."
        )
    return check_open(f"The key {template!r}", filled)


def fields_of(template: str) -> frozenset[str]:
    """Return the names of the arguments that a format string uses."""
    fields = (name for _, name, _, _ in Formatter().parse(template) if name is not None)
    return frozenset(re.split(r"[.\[]", name, maxsplit=1)[0] for name in fields)


def fill(template: str, given: dict[str, Any], how: Callable[..., str] = str.format) -> str:
    """Fill in a format string from a call's arguments. Raises `InvalidUsage` if that fails."""
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
    """Raise `InvalidUsage` for an invalid format string, or one that names an unknown argument.

    ``what`` names the option in the message.
    """
    try:
        strange = sorted(fields_of(template or "") - signature.parameters.keys())
    except ValueError as error:
        raise InvalidUsage(f"{what} is not a valid format string: {error}, in {template!r}.") from None
    if strange:
        raise InvalidUsage(
            f"{what} names {f'{{{strange[0]}}}'}, and the function has no such argument: {template!r} can name "
            f"{', '.join(signature.parameters) or 'none'}."
        )
