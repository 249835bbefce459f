"""The walk of one sub-goal: every door a screenshot and a decision go through, in order.

Each method is a door or a few of them; `core.loop` puts them in sequence, and the Prefect edge makes
tasks of `decide` and `act`. What happens is recorded before it is relied on.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from holo_tasks.core import events
from holo_tasks.core.actions import ACTING, label
from holo_tasks.core.budget import Guard
from holo_tasks.core.errors import (
    HoloError,
    InvalidUsage,
    ModelFailed,
    PolicyRefused,
    TransientModelFault,
    UnusableReply,
)
from holo_tasks.core.frame import Frame, Shot
from holo_tasks.core.money import Price, image_tokens
from holo_tasks.core.permit import Policy
from holo_tasks.core.ports import Desktop, Encoder, ModelClient, Recorder, Redactor, Reply, Usage
from holo_tasks.core.scaling import to_gesture
from holo_tasks.core.step import Step
from holo_tasks.core.transcript import Correction, Did, Observed, Told, Transcript
from holo_tasks.core.verdicts import judge

MIN_OUTPUT_TOKENS = 256
CALL_TIMEOUT_S = 120.0
CORRECTIONS = 1
"""How often a reply that is not a step is sent back before the sub-goal fails."""


class DialectPort(Protocol):
    """What the walk needs of a dialect; `models.dialects` says more."""

    def request(
        self, transcript: Transcript, *, correction: Correction | None = None, answer_only: bool = False
    ) -> dict[str, Any]: ...

    def parse(self, reply: Reply, *, answer_only: bool = False) -> Step: ...


@dataclass(frozen=True)
class Doors:
    """The outside world as one sub-goal sees it. ``price`` is None when nobody knows what a token costs."""

    desktop: Desktop
    redactor: Redactor
    encoder: Encoder
    dialect: DialectPort
    client: ModelClient
    price: Price | None
    policy: Policy
    recorder: Recorder
    now_s: Callable[[], float]


@dataclass(frozen=True)
class Seen:
    """The newest settled screen, as pixels and as it was sent."""

    frame: Frame
    shot: Shot


@dataclass
class Walk:
    """A sub-goal being worked on. Starts with an empty history, which is what a sub-goal is for."""

    doors: Doors
    guard: Guard
    number: int
    transcript: Transcript
    step: int = 0
    seen: Seen | None = None
    _correction: Correction | None = field(default=None, repr=False)
    _corrections: int = 0
    _attempt: int = 0
    _spans: dict[str, int] = field(default_factory=dict)

    # settle → capture → redact → encode → record

    async def look(self, *, after_action: bool = False) -> Seen:
        """Wait for the screen to settle, then make it something the model can be sent."""
        self.guard.check_time(self.doors.now_s())
        started = self.doors.now_s()
        frame = await self.doors.desktop.look(after_action=after_action)
        redacted = self.doors.redactor.redact(frame)
        shot = await asyncio.to_thread(self.doors.encoder.encode, redacted)
        event = events.FrameTaken(
            subgoal=self.number,
            step=self.step,
            sha256=shot.sha256,
            media_type=shot.media_type,
            size_bytes=len(shot.data),
            sent_width=shot.sent_size.width,
            sent_height=shot.sent_size.height,
            screen_width=shot.screen.width,
            screen_height=shot.screen.height,
            frame_digest=shot.frame_digest,
            masks=redacted.masks,
            settled=frame.settled,
            settle_us=frame.settle_ns // 1000,
            quiet_us=frame.quiet_ns // 1000,
            capture_us=frame.capture_ns // 1000,
            encode_us=shot.encode_ns // 1000,
        )
        await asyncio.gather(self.doors.recorder.keep(shot), self.doors.recorder.record(event))
        self._spans["perceive"] = _micros(self.doors.now_s() - started)
        self.seen = Seen(frame, shot)
        return self.seen

    # predict → parse

    async def decide(self, *, answer_only: bool = False) -> Step:
        """Ask the model for the next step. May be called again after a transient fault.

        Raises `ModelFailed` when the model's second reply is not a step either.
        """
        started = self.doors.now_s()
        while True:
            reply = await self._predict(answer_only)
            try:
                step = self.doors.dialect.parse(reply, answer_only=answer_only)
                break
            except UnusableReply as error:
                if self._corrections >= CORRECTIONS:
                    raise ModelFailed(f"The model gave no usable step twice: {error}.") from None
                self._corrections += 1
                self._correction = Correction(error.tool, error.correction)
                await self._record(events.Corrected(reason=str(error)))
        self._correction, self._corrections, self._attempt = None, 0, 0
        self._spans["decide"] = _micros(self.doors.now_s() - started)
        call = step.tool_call
        await self._record(
            events.Decided(
                note=step.note,
                thought=step.thought,
                tool_name=call.tool_name,
                arguments=_plain(call.model_dump(exclude={"tool_name"})),
                label=label(call),
            )
        )
        return step

    async def _predict(self, answer_only: bool) -> Reply:
        doors, guard = self.doors, self.guard
        guard.check_time(doors.now_s())
        body = doors.dialect.request(self.transcript, correction=self._correction, answer_only=answer_only)
        worst = self._reserve(body)
        self._attempt += 1
        await self._record(
            events.RequestSent(
                attempt=self._attempt,
                model=str(body["model"]),
                endpoint=doors.client.endpoint,
                shots=_sent_shots(body, self.transcript),
                messages=len(body["messages"]),
                prompt_sha256=hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest(),
            )
        )
        left = CALL_TIMEOUT_S
        if guard.deadline_s is not None:
            left = min(left, max(0.001, guard.deadline_s - doors.now_s()))
        billed, settled = 0, worst
        try:
            reply = await doors.client.complete(body, timeout_s=left)
            usage = reply.usage or estimate(body, reply, self.transcript)
            billed = doors.price.of(usage) if doors.price else 0
            guard.learn(prompt_tokens(body, self.transcript), usage.prompt_tokens)
        except HoloError as error:
            if isinstance(error, TransientModelFault) and error.maybe_billed:
                settled = 0
            guard.check_time(doors.now_s())
            await self._record(events.CallFailed(attempt=self._attempt, reason=str(error), transient=error.transient))
            raise
        except asyncio.CancelledError:
            settled = 0
            raise
        finally:
            # Charged when the bill arrives, before anything is read from the reply. What may still be
            # billed stays held.
            guard.settle(settled, billed)
        if doors.price is None:
            guard.count_unpriced()
        await self._record(
            events.ReplyReceived(
                attempt=self._attempt,
                latency_us=reply.latency_ns // 1000,
                prompt_tokens=usage.prompt_tokens,
                cached_tokens=usage.cached_tokens,
                completion_tokens=usage.completion_tokens,
                cost_micro_usd=billed if doors.price else None,
                estimated=reply.usage is None,
                finish_reason=reply.finish_reason,
                content=reply.content[:20_000],
            )
        )
        return reply

    def _reserve(self, body: dict[str, Any]) -> int:
        """Hold the worst case of a call; shorten the reply that is allowed if that makes it affordable."""
        price, guard = self.doors.price, self.guard
        if price is None:
            return 0
        prompt = price.of(Usage(guard.worst_tokens(prompt_tokens(body, self.transcript)), 0))
        headroom = guard.headroom_micro
        if headroom is not None and price.output > 0:
            affordable = int((headroom - prompt) / price.output)
            if MIN_OUTPUT_TOKENS <= affordable < body["max_tokens"]:
                body["max_tokens"] = affordable
        worst = prompt + price.of(Usage(0, int(body["max_tokens"])))
        guard.reserve(worst)
        return worst

    # scale → permit → act

    async def act(self, step: Step) -> str:
        """Do what the step asks for, once, and return what the model is told of it.

        Raises `PolicyRefused` before any input event if the action is not allowed.
        """
        seen = self._seen()
        call = step.tool_call
        gesture = to_gesture(call, seen.shot)
        if gesture is None:
            raise ValueError(f"{call.tool_name} is nothing for hands")
        doors, guard = self.doors, self.guard
        guard.check_time(doors.now_s())
        acting = isinstance(call, ACTING)
        if acting:
            guard.check_action()
            permit = doors.policy.permit(call, gesture)
            await self._record(events.Permitted(allowed=permit.allowed, rule=permit.rule))
            if not permit.allowed:
                raise PolicyRefused(permit.rule)
        await self._record(
            events.ActionIntended(
                gesture_kind=type(gesture).__name__.lower(),
                gesture=_plain(asdict(gesture)),
                label=label(call),
                before=seen.shot.sha256,
            )
        )
        started = doors.now_s()
        if acting:
            guard.count_action()
        try:
            receipt = await doors.desktop.do(gesture, deadline=guard.deadline_s)
        except HoloError as error:
            await self._record(events.ActionFailed(reason=str(error)))
            raise
        finally:
            self._spans["act"] = _micros(doors.now_s() - started)
        await self._record(events.ActionDone(took_us=receipt.took_ns // 1000, input_events=receipt.events))
        return f"Done: {call.tool_name}."

    # verify → record

    async def verify(self, before: Seen, *, started_s: float) -> str:
        """Take a fresh settled frame, judge what the action did, and say so in a sentence.

        ``started_s`` is when the step began, before it was decided.
        """
        after = await self.look(after_action=True)
        verdict = judge(before.frame, after.frame)
        box = verdict.box
        await self._record(
            events.Judged(
                outcome=verdict.outcome,
                before=before.shot.sha256,
                after=after.shot.sha256,
                changed_box=[] if box is None else [box.left, box.top, box.width, box.height],
            )
        )
        await self._record(
            events.StepTimed(
                perceive_us=self._spans.get("perceive", 0),
                decide_us=self._spans.get("decide", 0),
                act_us=self._spans.get("act", 0),
                total_us=_micros(self.doors.now_s() - started_s),
            )
        )
        return verdict.sentence

    def remember(self, step: Step, told: str, *, is_error: bool = False) -> None:
        """Write the step and what came of it into the history, with the newest screen after it."""
        self.transcript = self.transcript.then(
            Did(step), Told(step.tool_call.tool_name, told, is_error), Observed(self._seen().shot)
        )

    def begin(self) -> None:
        """Show the model its first screen."""
        self.transcript = self.transcript.then(Observed(self._seen().shot))

    async def record(self, event: events.Event) -> None:
        """Record an event of this sub-goal."""
        await self._record(event)

    async def _record(self, event: events.Event) -> None:
        await self.doors.recorder.record(event.model_copy(update={"subgoal": self.number, "step": self.step}))

    def _seen(self) -> Seen:
        if self.seen is None:
            raise InvalidUsage("Look at the screen before deciding or acting.")
        return self.seen


def prompt_tokens(body: dict[str, Any], transcript: Transcript) -> int:
    """Estimate a request's prompt tokens from above: three characters a token, images by their formula."""
    sizes = {shot.sha256: shot.sent_size for shot in transcript.shots}
    images = sum(image_tokens(sizes[digest].width, sizes[digest].height) for digest in _sent_shots(body, transcript))
    characters = 0
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        characters += 16 + sum(len(part["text"].encode()) for part in parts if part["type"] == "text")
    return images + -(-characters // 3)


def estimate(body: dict[str, Any], reply: Reply, transcript: Transcript) -> Usage:
    """Return a bill for a server that sent none: high rather than low."""
    written = -(-(len(reply.content.encode()) + reply.reasoning_bytes) // 3)
    most = int(body["max_tokens"])
    return Usage(prompt_tokens(body, transcript), most if reply.finish_reason == "length" else max(1, written))


def _sent_shots(body: dict[str, Any], transcript: Transcript) -> list[str]:
    images = sum(
        part["type"] == "image_url"
        for message in body["messages"]
        if not isinstance(message["content"], str)
        for part in message["content"]
    )
    return [shot.sha256 for shot in transcript.shots[len(transcript.shots) - images :]]


def _plain(value: Any) -> Any:
    """Write fractions as strings: events hold no floats."""
    match value:
        case float():
            return f"{value:g}"
        case dict():
            return {name: _plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


def _micros(seconds: float) -> int:
    return round(seconds * 1_000_000)
