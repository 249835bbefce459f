"""Client of an OpenAI-compatible endpoint. It sends each request once; the caller decides about retries.

`ModelEndpoint` is the only implementation of `core.ports.ModelClient`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Self, TypeGuard

import openai
from openai.types.chat import ChatCompletion
from pydantic import SecretStr

from holo_tasks.core.errors import HoloError, InvalidUsage, ModelFailed, TransientModelFault
from holo_tasks.core.limits.money import Usage
from holo_tasks.core.ports import Reply, ToolRequest
from holo_tasks.core.this_machine import Lookup, NotThisMachine, pinned_url, switched_on
from holo_tasks.loop.ask_model.corrections import quoted_start
from holo_tasks.machine.memory import returning_free_memory
from holo_tasks.machine.network_variables import check_network_variables
from holo_tasks.models.address import check_base_url, check_key, no_base_url, shown
from holo_tasks.models.bounded_client import BoundedClient
from holo_tasks.models.breaker import Breaker
from holo_tasks.models.cut_prompts import CutPrompts
from holo_tasks.models.local import LocalClient
from holo_tasks.models.refusals import has_no_money, remedy

STRIPPED = ("Authorization", "OpenAI-Organization", "OpenAI-Project")
NO_LIST = (404, 405, 501)
"""Status codes of servers without a list of models."""
REFUSED_STATUS = frozenset({400, 401, 402, 403, 404, 405, 406, 410, 411, 413, 414, 415, 417, 422, 426, 428, 429, 431})
"""Status codes with which a server refuses a request before any work. `_maybe_begun` decides about the other errors."""
BUSY_TEXT = re.compile(
    r"overload|\bloading\b.{0,20}\bmodel|\b(is|still|currently) (being )?load(ing|ed)\b|queue (is )?full"
    r"|\b(no|at|out of|insufficient) capacity"
    r"|\bno (healthy|available) (upstream|server|backend|worker|endpoint|instance)"
    r"|\b(server|engine|model)( is)?( currently| too)? busy|(pending|concurrent) requests",
    re.IGNORECASE,
)
"""Texts of a 503 that is caused by load, so that the request was not begun. A ``Retry-After`` header alone does not
show that, because gateways add it to any failure behind them.
"""
NOT_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol"})
"""Errors before a request is sent, by class name, because the HTTP library depends on the version of the OpenAI
client.
"""
CONNECT_S = 20.0
"""Longest time for a connection, in seconds. Even a busy server accepts connections, because its kernel does so."""
MOST_RETRY_AFTER_S = 3600.0
"""Longest accepted Retry-After, in seconds."""
RATE_LIMIT_PAUSE_S = 15.0
"""Seconds to wait after a 429 without Retry-After. Limits are mostly per minute, and callers retry four times."""
FAIR_TIMEOUT_S = 20.0
"""Seconds. A shorter time-out does not count as a failure for the breaker, because the caller had little time left."""
MOST_SHOWN_BYTES = 20_000
"""Bytes of an unexpected body that are inspected for the error message."""
MOST_ERROR_CHARACTERS = 300
"""Characters of an error text that are searched for `BUSY_TEXT`. A longer text is a web page."""
MOST_TOKENS = 10**9
"""A larger token count is invalid."""

logger = logging.getLogger("holo_tasks")


@dataclass(frozen=True)
class ListedModel:
    """An entry of a server's list of models.

    ``weights`` is the name of the weights if it is another one, as vLLM reports it. ``deprecated_from`` is ``None``
    without a date.
    """

    name: str
    weights: str = ""
    deprecated_from: date | None = None

    @classmethod
    def of(cls, entry: object) -> Self:
        weights, at = _text(getattr(entry, "root", None)), getattr(entry, "deprecation_date", None)
        found = None
        with suppress(ValueError, OverflowError, OSError):  # a date or a time in ISO format, or seconds since 1970
            if isinstance(at, str):
                found = date.fromisoformat(at[:10])
            elif isinstance(at, int | float) and at > 1:
                found = datetime.fromtimestamp(at, UTC).date()
        return cls(_text(getattr(entry, "id", None)), weights, found)


class ModelEndpoint:
    """An endpoint and its API key. One instance serves many conversations over shared connections.

    The retries of the OpenAI client are off, because every attempt may be billed and must be recorded. In local-only
    mode the endpoint must be on this machine. The environment can turn this mode on, regardless of ``local_only``.
    """

    def __init__(
        self,
        base_url: str,
        api_key: SecretStr | None,
        *,
        local_only: bool = False,
        lookup: Lookup = socket.getaddrinfo,
    ) -> None:
        self.base_url = check_base_url(base_url)
        self.local_only = local_only or switched_on(os.environ)
        if self.local_only:
            pinned_url(self.base_url, lookup, "the model's endpoint")  # refused here, before anything is started
        self._key = key = check_key(api_key.get_secret_value() if api_key else "")
        # The OpenAI client would send headers from the environment, and requires a key. Omit the headers, and
        # without a key also the Authorization header.
        named = [line.partition(":")[0].strip() for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()]
        self._headers: dict[str, Any] = {
            name: openai.Omit() for name in (*STRIPPED, *named) if name and not (key and name == "Authorization")
        }
        self._breaker = Breaker(self.endpoint)
        self._cut_prompts = CutPrompts()
        try:
            self._client = openai.AsyncOpenAI(
                base_url=self.base_url,
                api_key=key or "none",
                max_retries=0,
                http_client=LocalClient(self.endpoint, lookup) if self.local_only else BoundedClient(self.endpoint),
            )
        except Exception as error:
            # Compare the name, because the HTTP library depends on the version of the OpenAI client.
            if type(error).__name__ == "InvalidURL":
                raise no_base_url(base_url) from None
            check_network_variables(os.environ)
            raise

    @property
    def endpoint(self) -> str:
        """The base URL without private parts, for messages and records."""
        return shown(self.base_url)

    async def complete(self, body: Mapping[str, Any], *, timeout_s: float) -> Reply:
        """Send a request and return the reply, within ``timeout_s`` seconds including the wait for the breaker.

        Raises a `HoloError` whose ``maybe_billed`` says whether the attempt may cost money.
        """
        arrived = time.monotonic()
        # Wait for the breaker for at most half of the time. Otherwise too little would be left for the reply.
        probe = await self._breaker.admit(timeout_s / 2)
        left = timeout_s - (time.monotonic() - arrived)
        try:
            with returning_free_memory():
                reply = await self._ask(body, left)
        except TransientModelFault as fault:
            if isinstance(fault, _ModelTimeout) and left < FAIR_TIMEOUT_S:
                self._breaker.gave_up(probe=probe)
            else:
                self._breaker.failed(fault, probe=probe)
            raise
        except HoloError:
            self._breaker.succeeded()
            raise
        except BaseException:
            self._breaker.gave_up(probe=probe)
            raise
        self._breaker.succeeded()
        if reply.usage and (warning := self._cut_prompts.warning(body, reply.usage.prompt_tokens)):
            logger.warning("%s %s", self.endpoint, warning)
        return reply

    async def models(self, *, timeout_s: float) -> tuple[ListedModel, ...] | None:
        """Return the endpoint's models, or ``None`` if it has no such list.

        Raises `TransientModelFault` after ``timeout_s``, and another `HoloError` if the endpoint refuses the request.
        """
        try:
            async with asyncio.timeout(timeout_s):
                page = await self._client.models.list(extra_headers=self._headers, timeout=timeout_s)
        except TimeoutError:
            raise TransientModelFault(f"{self.endpoint} did not answer within {timeout_s:g} s.") from None
        except openai.APIStatusError as error:
            if error.status_code in NO_LIST:
                return None
            raise self._error_with_status(error, "") from None
        except openai.OpenAIError as error:
            raise self._error_with_status(error, "") from None
        except (ValueError, RecursionError, AttributeError):  # the client fails on an answer that is not an object
            return None
        listed = getattr(page, "data", None)
        if not isinstance(listed, list):
            return None
        return tuple(model for entry in listed if (model := ListedModel.of(entry)).name)

    async def _ask(self, body: Mapping[str, Any], timeout_s: float) -> Reply:
        started = time.perf_counter_ns()
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self._client.chat.completions.with_raw_response.create(
                    # The OpenAI client validates named arguments recursively, which is slow for long conversations. It
                    # sends the fields of extra_body unchanged, in place of the named ones.
                    model="",
                    messages=(),
                    extra_body=body,
                    extra_headers=self._headers,
                    # The connection has a shorter time-out, because a time-out there means that nothing was sent.
                    timeout=openai.Timeout(timeout_s, connect=min(CONNECT_S, 0.9 * timeout_s)),
                )
            latency_ns = time.perf_counter_ns() - started
        except TimeoutError:
            raise _ModelTimeout(
                f"{self.endpoint} did not answer within {timeout_s:.0f} s; check that the server is not overloaded.",
                maybe_billed=True,
            ) from None
        except openai.OpenAIError as error:
            raise self._error_with_status(error, str(body.get("model"))) from None
        # An invalid reply counts as transient: a proxy may send it while the server behind it restarts.
        try:
            reply = _reply(answer.parse(), latency_ns)
        except (openai.OpenAIError, ValueError, RecursionError):
            raise self._invalid_answer(answer.content, "something that is not JSON", "check the base URL") from None
        if reply is None:
            raise self._invalid_answer(answer.content, "a reply without choices", "check that the base URL ends in /v1")
        return reply

    def _invalid_answer(self, body: bytes, what: str, advice: str) -> TransientModelFault:
        """Return the error for an answer that is not a reply, with the beginning of its body."""
        sent = quoted_start(self._keyless(body[:MOST_SHOWN_BYTES].decode(errors="replace")))
        details = f"{what} ({sent})" if sent else "an empty answer"
        return TransientModelFault(f"{self.endpoint} sent {details}; {advice}.", maybe_billed=True)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _error_with_status(self, error: openai.OpenAIError, model: str) -> HoloError:
        explained = self._error_for(error, model)
        if isinstance(error, openai.APIStatusError):
            explained.http_status = error.status_code
            explained.maybe_billed = _maybe_begun(error)
        return explained

    def _error_for(self, error: openai.OpenAIError, model: str) -> HoloError:
        where = self.endpoint
        match error:
            case openai.APIConnectionError(__cause__=NotThisMachine() as refused):
                return refused
            case openai.APIConnectionError() if type(error.__cause__).__name__ in NOT_SENT:
                return TransientModelFault(f"Cannot reach {where}; check the base URL and that the server is running.")
            case openai.APITimeoutError():
                return _ModelTimeout(f"{where} timed out; check that the server is not overloaded.", maybe_billed=True)
            case openai.APIConnectionError():
                return TransientModelFault(
                    f"Cannot reach {where}; check the base URL and that the server is running.", maybe_billed=True
                )
            case openai.APIStatusError() if has_no_money(error.status_code, self._all_words(error)):
                return InvalidUsage(
                    f"The account at {where} has no money left (HTTP {error.status_code}): "
                    f"{self._server_message(error.message)}; pay, or use another key."
                )
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                return InvalidUsage(
                    f"{where} refused the API key (HTTP {error.status_code}); "
                    "set HAI_API_KEY for the hosted endpoint or HOLO_API_KEY for another one."
                )
            case openai.NotFoundError():
                return InvalidUsage(
                    f"{where} does not know the model {model!r} (HTTP 404); check --model and the base URL."
                )
            case openai.APIStatusError() if error.status_code in (408, 409, 425, 429) or error.status_code >= 500:
                asked_s = _retry_after(error.response.headers.get("retry-after"))
                return TransientModelFault(
                    f"{where} answered HTTP {error.status_code}: {self._server_message(error.message)}",
                    retry_after_s=RATE_LIMIT_PAUSE_S if asked_s is None and error.status_code == 429 else asked_s,
                )
            case openai.APIStatusError():
                said = self._server_message(error.message)
                advice = remedy(said)
                return ModelFailed(
                    f"{where} refused the request (HTTP {error.status_code}): {said}"
                    + (f"; {advice}" if advice else "")
                )
            case _:
                message = f"{where} sent something that is not a chat completion: {self._server_message(str(error))}"
                return TransientModelFault(message, maybe_billed=True)

    def _all_words(self, error: openai.APIStatusError) -> str:
        """Return the message, type and code of a server's error."""
        details = error.body if isinstance(error.body, dict) else {}
        return " ".join([error.message, *(str(details.get(name)) for name in ("type", "code"))])[:MOST_ERROR_CHARACTERS]

    def _server_message(self, words: str) -> str:
        """Return a server's message in one line of at most 300 characters, without the API key."""
        return _first_line(_text(self._keyless(words)))

    def _keyless(self, words: str) -> str:
        """Return a server's text without the API key, which some servers repeat."""
        return words.replace(self._key, "…") if self._key else words


class _ModelTimeout(TransientModelFault):
    """The caller's time ran out before a reply."""


def _maybe_begun(error: openai.APIStatusError) -> bool:
    """Return whether a server may have done the work before this error, so that the call may be billed."""
    details = error.body if isinstance(error.body, dict) else {"message": error.body}
    message = " ".join(value for name in ("message", "type", "code") if isinstance(value := details.get(name), str))
    if error.status_code not in REFUSED_STATUS and not (
        error.status_code == 503 and BUSY_TEXT.search(message[:MOST_ERROR_CHARACTERS])
    ):
        return True
    # Some servers refuse their model's output, and include the usage or the output in the error.
    return bool({"usage", "failed_generation"} & (details.keys() | _outer_fields(error)))


def _outer_fields(error: openai.APIStatusError) -> set[str]:
    """Return the names of the fields in the server's answer, among which the error is one."""
    try:
        answer = error.response.json()
    except (ValueError, RecursionError):
        return set()
    return set(answer) if isinstance(answer, dict) else set()


def _reply(completion: ChatCompletion, latency_ns: int) -> Reply | None:
    """Return the reply in a completion, or ``None`` if it holds neither a message nor a bill."""
    # The OpenAI client does not validate answers: fields may be missing or have another type.
    choices = getattr(completion, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = getattr(choice, "message", None)
    thoughts = [_text(getattr(message, name, None)) for name in ("reasoning_content", "reasoning")]
    calls = getattr(message, "tool_calls", None)
    reply = Reply(
        content=_text(getattr(message, "content", None)),
        finish_reason=_text(getattr(choice, "finish_reason", None)),
        usage=None,
        reasoning=max(thoughts, key=len),
        latency_ns=latency_ns,
        tool_calls=tuple(map(_tool_request, calls)) if isinstance(calls, list) else (),
    )
    usage = _usage(getattr(completion, "usage", None), wrote=bool(reply.written_bytes or reply.tool_calls))
    if message is None and usage is None:
        return None
    # A bill without a message must be paid as well. The dialect refuses the empty reply later.
    return replace(reply, usage=usage)


def _tool_request(call: object) -> ToolRequest:
    function = getattr(call, "function", None)
    arguments = getattr(function, "arguments", None)
    # Some servers send the arguments as an object instead of JSON text.
    written = json.dumps(arguments) if isinstance(arguments, dict) else arguments
    return ToolRequest(_text(getattr(call, "id", None)), _text(getattr(function, "name", None)), _text(written))


def _text(value: object) -> str:
    """Return a string with lone surrogates replaced, which JSON allows. Other types become an empty string."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def _usage(usage: object, *, wrote: bool) -> Usage | None:
    """Return the billed tokens, or ``None`` if they are impossible.

    Some servers and proxies count nothing and send zeros. A completion of zero tokens is impossible if the model
    ``wrote`` something.
    """
    prompt = getattr(usage, "prompt_tokens", None)
    completion = getattr(usage, "completion_tokens", None)
    if not _count(prompt) or not _count(completion) or not prompt or (wrote and not completion):
        return None
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
    return Usage(prompt, completion, cached if _count(cached) else 0)


def _count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS


def _retry_after(value: str | None) -> float | None:
    """Return the seconds in a Retry-After header, or ``None`` if it is invalid.

    It holds seconds or a date (RFC 9110, 10.2.3).
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except (ValueError, OverflowError):
            return None
    return min(seconds, MOST_RETRY_AFTER_S) if seconds >= 0 else None


def _first_line(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
