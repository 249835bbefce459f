"""The rules on limits of a request, in every dialect."""

from __future__ import annotations

from collections.abc import Iterator

from holo_tasks.contract.rulebook import Body, RuleBook, Terms
from holo_tasks.contract.tokens import prompt_tokens

BOOK: RuleBook[Body] = RuleBook()

FIELDS = frozenset(
    {
        "model",
        "messages",
        "temperature",
        "max_tokens",
        "tools",
        "tool_choice",
        "response_format",
        "structured_outputs",
        "chat_template_kwargs",
        "reasoning_effort",
    }
)


@BOOK.rule("W10", "the reply is not requested as a stream")
def _no_stream(body: Body, _: Terms) -> Iterator[str]:
    if body.get("stream"):
        yield f"stream is {body['stream']!r}"


@BOOK.rule("W11", "max_tokens is a positive integer within the model's output limit")
def _max_tokens(body: Body, terms: Terms) -> Iterator[str]:
    most = body.get("max_tokens")
    if not isinstance(most, int) or isinstance(most, bool) or not 0 < most <= terms.max_output_tokens:
        yield f"{most!r}, with a limit of {terms.max_output_tokens}"


@BOOK.rule("W12", "the prompt and the longest reply fit the model's context")
def _fits(body: Body, terms: Terms) -> Iterator[str]:
    most = body.get("max_tokens")
    prompt = prompt_tokens(body)
    if prompt + (most if isinstance(most, int) else 0) > terms.context_tokens:
        yield f"{prompt} + {most} tokens, with a context of {terms.context_tokens}"


@BOOK.rule("W13", "a request has no fields that the server does not know")
def _known_fields(body: Body, _: Terms) -> Iterator[str]:
    yield from (str(key) for key in body if key not in FIELDS)
