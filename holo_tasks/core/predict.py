"""One call to a model, paid for: hold the worst case, ask, charge what the bill says."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from holo_tasks.core import events
from holo_tasks.core.budget import Guard, unpriced
from holo_tasks.core.errors import HoloError
from holo_tasks.core.model import Model, Request
from holo_tasks.core.money import Usage, image_tokens
from holo_tasks.core.ports import Purse, Reply

MIN_OUTPUT_TOKENS = 256
"""A reply may be made shorter to be affordable, but not shorter than this."""


@dataclass(frozen=True)
class Till:
    """Where calls are charged and written down."""

    guard: Guard
    record: Callable[[events.Event], Awaitable[None]]
    now_s: Callable[[], float]
    purse: Purse | None = None


async def predict(model: Model, request: Request, till: Till, *, attempt: int, purpose: events.Purpose) -> Reply:
    """Send a request and return the reply, already charged: what is wrong with it is found out after that.

    Raises `LimitReached` before the call if its worst case does not fit a limit, and `InvalidUsage` if money is limited
    and its price is not known; `TransientModelFault`, `ModelFailed` or `InvalidUsage` after it.
    """
    guard, price, body = till.guard, model.price, request.body
    guard.check_time(till.now_s())
    guard.check_calls(till.now_s())
    hold = await _reserve(model, request, till)
    guard.count_call(till.now_s())
    try:
        await till.record(
            events.RequestSent(
                purpose=purpose,
                attempt=attempt,
                model=str(body["model"]),
                endpoint=model.client.endpoint,
                shots=[shot.sha256 for shot in request.shots],
                messages=len(body["messages"]),
                prompt_sha256=hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest(),
            )
        )
    except BaseException:
        await _settle(till, hold, 0, 0)  # nothing was sent
        raise
    left = model.call_timeout_s
    if guard.deadline_s is not None:
        left = min(left, max(0.001, guard.deadline_s - till.now_s()))
    billed, still_held = 0, 0
    try:
        reply = await model.client.complete(body, timeout_s=left)
        usage = reply.usage or estimate(request, reply)
        billed = price.of(usage) if price else 0
        still_held = 0 if reply.usage else max(0, hold.worst_micro - billed)
        guard.learn(most_prompt_tokens(request), usage.prompt_tokens)
    except HoloError as error:
        still_held = hold.worst_micro if error.maybe_billed else 0
        await till.record(events.CallFailed(attempt=attempt, reason=str(error), transient=error.transient))
        guard.check_time(till.now_s())
        raise
    except BaseException:
        still_held = hold.worst_micro
        raise
    finally:
        # Charged when the bill arrives, before anything is read from the reply. What may still be billed
        # stays held: all of it, or where a server sends no bill what the estimate may fall short of.
        await _settle(till, hold, billed, still_held)
    if price is None:
        guard.count_unpriced()
    await till.record(
        events.ReplyReceived(
            attempt=attempt,
            latency_us=reply.latency_ns // 1000,
            prompt_tokens=usage.prompt_tokens,
            cached_tokens=usage.cached_tokens,
            completion_tokens=usage.completion_tokens,
            cost_micro_usd=billed if price else None,
            estimated=reply.usage is None,
            finish_reason=reply.finish_reason,
            content=_written(reply)[:20_000],
        )
    )
    return reply


@dataclass(frozen=True)
class _Hold:
    worst_micro: int
    name: str


async def _reserve(model: Model, request: Request, till: Till) -> _Hold:
    """Hold the worst case of a call; shorten the reply that is allowed if that makes it affordable."""
    guard, purse = till.guard, till.purse
    worst = _worst(model, request, guard, None if purse is None else await purse.headroom_micro(guard))
    guard.reserve(worst)
    try:
        return _Hold(worst, "" if purse is None else await purse.reserve(guard, worst))
    except BaseException:
        guard.settle(worst, 0)
        raise


async def _settle(till: Till, hold: _Hold, billed: int, still_held: int) -> None:
    """Replace a hold by the bill and what may be billed yet."""
    till.guard.settle(hold.worst_micro, billed, still_held)
    if till.purse is not None and (billed or still_held < hold.worst_micro):
        await asyncio.shield(till.purse.settle(hold.name, billed, still_held))


def _worst(model: Model, request: Request, guard: Guard, elsewhere: int | None) -> int:
    price, body = model.price, request.body
    if price is None:
        if guard.has_cost_limit:
            raise unpriced(model.name)
        return 0
    prompt = price.of(Usage(guard.worst_tokens(most_prompt_tokens(request)), 0))
    rooms = [room for room in (guard.headroom_micro, elsewhere) if room is not None]
    if rooms and price.output > 0:
        affordable = int((min(rooms) - prompt) / price.output)
        if MIN_OUTPUT_TOKENS <= affordable < body["max_tokens"]:
            body["max_tokens"] = affordable
    return prompt + price.of(Usage(0, int(body["max_tokens"])))


def prompt_tokens(request: Request) -> int:
    """Estimate a request's prompt tokens, rather high: three characters a token, images by their formula."""
    images, characters = _size(request)
    return images + -(-characters // 3)


def most_prompt_tokens(request: Request) -> int:
    """Bound a request's prompt tokens from above: no tokenizer makes more than one token of a byte."""
    return sum(_size(request))


def _size(request: Request) -> tuple[int, int]:
    """Return the tokens of the images and the bytes of the text."""
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
    """Return a bill for a server that sent none: high rather than low."""
    written = -(-reply.written_bytes // 3)
    most = int(request.body["max_tokens"])
    return Usage(prompt_tokens(request), most if reply.finish_reason == "length" else max(1, written))


def _written(reply: Reply) -> str:
    calls = [f"{call.name}({call.arguments})" for call in reply.tool_calls]
    return "\n".join(filter(None, (reply.content, *calls)))
