"""Make one paid call to a model: reserve the worst case, send the request, charge the bill.

`predict` is used for steps and questions. `CallAccount` has the places where calls are charged and recorded.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from holo_tasks.core import events
from holo_tasks.core.errors import HoloError, LimitReached
from holo_tasks.core.limits.budget import Guard, unpriced
from holo_tasks.core.limits.money import Usage, image_tokens
from holo_tasks.core.limits.overbilling import RETEST_S, Overbilling, Quote, meter_id
from holo_tasks.core.ports import BudgetStore, Reply
from holo_tasks.core.prompts.model import Model, Request

MIN_OUTPUT_TOKENS = 256
"""A reply may be shortened to be affordable, but not below this number of tokens."""
FAIR_OUTPUT_TOKENS = 1024
"""Lower limit in tokens if a reply is shortened to leave money for later calls.

Most replies have about 150 tokens, and more with thinking.
"""


@dataclass(frozen=True)
class CallAccount:
    """The guard that calls are charged to, and the recorder that they are recorded with."""

    guard: Guard
    record: Callable[[events.Event], Awaitable[None]]
    now_s: Callable[[], float]
    purse: BudgetStore | None = None
    note: Callable[[events.Event], Awaitable[None]] | None = None
    """Records an event without waiting until it is durable. Without it, ``record`` is used."""


async def predict(
    model: Model, request: Request, account: CallAccount, *, attempt: int, purpose: events.Purpose
) -> Reply:
    """Send a request and return the reply, which is already charged. The caller checks the reply's contents.

    Before the call, raises `LimitReached` if its worst case exceeds a limit, and `InvalidUsage` if there is a cost
    limit and the price is unknown. After it, raises `TransientModelFault`, `ModelFailed` or `InvalidUsage`.
    """
    guard, price = account.guard, model.price
    guard.check_time(account.now_s())
    guard.check_calls(account.now_s())
    hold = await _reserve(model, request, account)
    try:
        guard.check_calls(account.now_s())  # other tasks may have called meanwhile; the count follows at once
        guard.count_call(account.now_s())
        await account.record(_request_sent(model, request, attempt, purpose))
    except BaseException:
        await _settle(account, hold, _Outcome())  # nothing was sent
        raise
    outcome = _Outcome()
    try:
        reply = await model.client.complete(request.body, timeout_s=_call_timeout_s(model, account))
        usage = reply.usage or estimate(request, reply)
        outcome.billed = price.of(usage) if price else 0
        outcome.still_held = 0 if reply.usage else max(0, hold.worst_micro - outcome.billed)
        outcome.seen = _observed_overbilling(request, usage)
    except HoloError as error:
        outcome.still_held = hold.worst_micro if error.maybe_billed else 0
        await account.record(events.CallFailed(attempt=attempt, reason=str(error), transient=error.transient))
        guard.check_time(account.now_s())
        raise
    except BaseException:
        outcome.still_held = hold.worst_micro
        raise
    finally:
        # Charged when the bill arrives, before anything is read from the reply. The amount that may still be billed
        # stays reserved: all of the hold, or without a bill the difference between the hold and the estimate.
        await _settle(account, hold, outcome)
    if price is None:
        guard.count_unpriced()
    if reply.finish_reason == "length":
        guard.cut_off = True
    await (account.note or account.record)(
        events.ReplyReceived(
            attempt=attempt,
            latency_us=reply.latency_ns // 1000,
            prompt_tokens=usage.prompt_tokens,
            cached_tokens=usage.cached_tokens,
            completion_tokens=usage.completion_tokens,
            cost_micro_usd=outcome.billed if price else None,
            estimated=reply.usage is None,
            finish_reason=reply.finish_reason,
            content=_reply_text(reply)[:20_000],
        )
    )
    return reply


def _request_sent(model: Model, request: Request, attempt: int, purpose: events.Purpose) -> events.RequestSent:
    body = request.body
    return events.RequestSent(
        purpose=purpose,
        attempt=attempt,
        model=str(body["model"]),
        endpoint=model.client.endpoint,
        shots=[shot.sha256 for shot in request.shots],
        messages=len(body["messages"]),
        prompt_sha256=hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest(),
    )


@dataclass(frozen=True)
class _Hold:
    worst_micro: int
    name: str
    meter: str
    quote: Quote


@dataclass
class _Outcome:
    """The bill of a call, the amount that may still be billed, and the observed overbilling."""

    billed: int = 0
    still_held: int = 0
    seen: Overbilling | None = None


async def _reserve(model: Model, request: Request, account: CallAccount) -> _Hold:
    """Reserve the worst case of a call. The reply is limited to a shorter length if that makes the call affordable."""
    guard, purse, counted = account.guard, account.purse, meter_id(model.client.endpoint, model.name)
    quote = Quote()
    if purse is not None and model.price is not None:
        quote = await purse.quote(guard, counted, _call_timeout_s(model, account))
        if _fits_without_overbilling(model, request, guard, quote, counted):
            quote = await purse.alone(quote, counted, _call_timeout_s(model, account)) or quote
    expected = quote.known.maximum_with(guard.expected(counted))
    try:
        guard.check_time(account.now_s())
        worst, request.body["max_tokens"] = _worst_bill(model, request, guard, quote, expected)
        guard.reserve(worst)
        try:
            name = "" if purse is None else await purse.reserve(guard, worst)
        except BaseException:
            guard.settle(worst, 0)
            raise
    except LimitReached as error:
        if purse is not None:
            await asyncio.shield(purse.learn(quote, counted, None))
        raise _with_overbilling(error, expected, shared=quote.known.is_expected) from None
    except BaseException:
        if purse is not None:
            await asyncio.shield(purse.learn(quote, counted, None))
        raise
    return _Hold(worst, name, counted, quote)


def _fits_without_overbilling(model: Model, request: Request, guard: Guard, quote: Quote, meter: str) -> bool:
    """Return whether a call is unaffordable only because of known overbilling."""
    room, own = _spendable_micro(guard, quote), guard.expected(meter)
    if room is None or not quote.known.is_expected:
        return False
    with_it, _ = _worst_bill(model, request, guard, quote, quote.known.maximum_with(own))
    without, _ = _worst_bill(model, request, guard, quote, own)
    return without <= room < with_it


def _with_overbilling(error: LimitReached, expected: Overbilling, *, shared: bool) -> LimitReached:
    """Add to an error of a cost limit that the server overbills, and how to proceed."""
    if error.limit != "max_cost_usd" or not expected.is_expected:
        return error
    out = (
        f" After {RETEST_S / 60:.0f} minutes without such a bill, one call is let through as a test. "
        "Repair the server and try again then."
        if shared
        else ""
    )
    return LimitReached(f"{error} Its server {expected}.{out}", limit=error.limit, scope=error.scope)


def _call_timeout_s(model: Model, account: CallAccount) -> float:
    """Return the time limit of a call in seconds."""
    deadline_s = account.guard.deadline_s
    left_s = model.call_timeout_s if deadline_s is None else max(0.001, deadline_s - account.now_s())
    return min(model.call_timeout_s, left_s)


async def _settle(account: CallAccount, hold: _Hold, outcome: _Outcome) -> None:
    """Replace a reservation by the bill and the amount that may still be billed, and store the observed overbilling."""
    guard, billed, still_held = account.guard, outcome.billed, outcome.still_held
    guard.settle(hold.worst_micro, billed, still_held)
    if outcome.seen is not None:
        guard.learn(hold.meter, outcome.seen)
        guard.trust()
    elif still_held:
        guard.doubt()
    if account.purse is None:
        return
    try:
        if billed or still_held < hold.worst_micro:
            await asyncio.shield(account.purse.settle(hold.name, billed, still_held))
    finally:
        doubtful = outcome.seen is None and still_held > 0
        await asyncio.shield(account.purse.learn(hold.quote, hold.meter, outcome.seen, doubtful=doubtful))


def _observed_overbilling(request: Request, usage: Usage) -> Overbilling:
    most, allowed = most_prompt_tokens(request), int(request.body["max_tokens"])
    return Overbilling.of_bill(most, usage.prompt_tokens, allowed, usage.completion_tokens)


def _spendable_micro(guard: Guard, quote: Quote) -> int | None:
    """Return the micro-USD that may still be spent; ``None`` without a cost limit."""
    return min((room for room in (guard.headroom_micro, quote.headroom_micro) if room is not None), default=None)


def _worst_bill(model: Model, request: Request, guard: Guard, quote: Quote, expected: Overbilling) -> tuple[int, int]:
    """Return the highest possible bill of a call in micro-USD, and the length of reply that it allows, in tokens."""
    price, most = model.price, int(request.body["max_tokens"])
    if price is None:
        if guard.has_cost_limit:
            raise unpriced(model.name)
        return 0, most
    prompt = price.most(expected.most_prompt(most_prompt_tokens(request)), 0)
    room = _spendable_micro(guard, quote)
    if room is not None and price.output > 0:
        affordable = expected.affordable_max_tokens(int((room - prompt) / price.output))
        if guard.in_doubt or not guard.cut_off:
            # A call may use a quarter of the money: failed calls stay reserved, and a few must not use up all.
            fair = expected.affordable_max_tokens(int((room // 4 - prompt) / price.output))
            least = MIN_OUTPUT_TOKENS if guard.in_doubt else FAIR_OUTPUT_TOKENS
            affordable = min(affordable, max(fair, least))
        if MIN_OUTPUT_TOKENS <= affordable < most:
            most = affordable
    return prompt + price.most(0, expected.most_completion(most)), most


def prompt_tokens(request: Request) -> int:
    """Return an estimate of a request's prompt tokens: three characters per token, and images by their formula."""
    images, characters = _image_tokens_and_text_bytes(request)
    return images + -(-characters // 3)


def most_prompt_tokens(request: Request) -> int:
    """Return an upper bound of a request's prompt tokens. No tokenizer makes more than one token of a byte."""
    return sum(_image_tokens_and_text_bytes(request))


def _image_tokens_and_text_bytes(request: Request) -> tuple[int, int]:
    """Return the tokens of the images, and the bytes of the text."""
    images = sum(image_tokens(shot.sent_size.width, shot.sent_size.height) for shot in request.shots)
    characters = len(json.dumps(request.body["tools"])) if "tools" in request.body else 0
    for message in request.body["messages"]:
        content = message.get("content") or ""
        parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        characters += 16 + sum(len(part["text"].encode()) for part in parts if part["type"] == "text")
        characters += len(message.get("reasoning_content", "").encode())
        characters += len(json.dumps(message["tool_calls"])) if "tool_calls" in message else 0
    return images, characters


def estimate(request: Request, reply: Reply) -> Usage:
    """Return an estimated bill for a server that sent none. It is rather too high than too low."""
    written = -(-reply.written_bytes // 3)
    most = int(request.body["max_tokens"])
    return Usage(prompt_tokens(request), most if reply.finish_reason == "length" else max(1, written))


def _reply_text(reply: Reply) -> str:
    calls = [f"{call.name}({call.arguments})" for call in reply.tool_calls]
    return "\n".join(filter(None, (reply.content, *calls)))
