"""One run as spans and counts, made of what is recorded of it.

Every span and every number comes from the events of the trace, and of those only from their kinds, times, counts and
closed lists (`names`): no text of theirs is read here.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    Span,
    Status,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.util.types import AttributeValue

from holo_tasks.core import events
from holo_tasks.core.attachment import Attachment
from holo_tasks.core.frame import Shot
from holo_tasks.core.ports import Recorder
from holo_tasks.telemetry import names
from holo_tasks.telemetry.meters import Meters
from holo_tasks.telemetry.names import Door, listed
from holo_tasks.telemetry.watch import Watch

FLUSH_S, KILLED_FLUSH_S = 3.0, 0.5
"""A run waits so long at its end for what was measured to be sent; what takes longer may be lost with the process."""
MOST_KEPT = 64
FAILED = Status(StatusCode.ERROR)
MICRO = 1_000_000

logger = logging.getLogger("holo_tasks")


@dataclass
class _Scope:
    """A sub-goal, or the run itself, and where it stands: its step, and what that has begun and not ended."""

    span: Span
    step: Span = INVALID_SPAN
    number: int = 0
    verifying: Span | None = None
    verifying_ns: int = 0
    asked: events.RequestSent | None = None
    asked_ns: int = 0
    intended_ns: int = 0
    decided: events.Decided | None = None
    outcome: str = "none"
    refused: bool = False

    @property
    def inner(self) -> Span:
        """What the next door is a part of."""
        if self.verifying is not None:
            return self.verifying
        return self.step if self.number else self.span


@dataclass
class RunSpans(Watch):
    """Hears what is recorded of one run, and of whatever desktops it has."""

    tracer: Tracer
    meters: Meters
    flush: Callable[[], None]
    now_ns: Callable[[], int] = time.time_ns
    _run: Span = INVALID_SPAN
    _scopes: dict[int, _Scope] = field(default_factory=dict)
    _kept: dict[str, tuple[int, int]] = field(default_factory=dict)
    _broken: bool = False

    def recorder(self, recorder: Recorder) -> Recorder:
        return _Heard(recorder, self)

    def item(self, status: str, layer: str) -> None:
        self.meters.count(names.ITEMS, outcome=status, layer=names.layers(layer))

    def limit(self, name: str) -> None:
        self.meters.count(names.LIMITS_HIT, limit=name)

    async def over(self, *, killed: bool) -> None:
        within_s = KILLED_FLUSH_S if killed else FLUSH_S
        loop, sent = asyncio.get_running_loop(), asyncio.Event()

        def send() -> None:
            try:
                self.flush()
            finally:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(sent.set)

        # Of its own, so that a collector that hangs does not keep the process from ending.
        threading.Thread(target=send, name="telemetry", daemon=True).start()
        try:
            await asyncio.wait_for(sent.wait(), within_s)
        except TimeoutError:
            logger.info("What was measured has not arrived at its collector within %g s.", within_s)

    # ---- what the recorder tells

    def kept(self, sha256: str, began_ns: int) -> None:
        """Hear of a picture that was kept, before it is told of in an event."""
        while len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[sha256] = (began_ns, self.now_ns() - began_ns)

    def heard(self, event: events.Event, began_ns: int) -> None:
        """Hear of an event that is recorded by now; that began at a time."""
        try:
            now = self.now_ns()
            scope = self._scope(event, began_ns)
            self._tell(event, scope, began_ns, now)
            self._door("record", scope.inner, began_ns, now - began_ns)
        except Exception:  # who measures must not stop a run
            if not self._broken:
                self._broken = True
                logger.warning("A run cannot be measured any more; it goes on.", exc_info=True)

    def _scope(self, event: events.Event, began_ns: int) -> _Scope:
        """Return where an event belongs; a sub-goal, and a step, begins with the first thing that is told of it."""
        match event:
            case events.RunOpened():
                # Inside of what is under way here: of Prefect's flow run, if that is traced.
                self._run = self._begun("holo.run", None, began_ns, {"holo.run.id": event.run_id} | _flow_run(event))
                self._scopes[0] = _Scope(self._run)
            case events.SubgoalOpened():
                told: dict[str, AttributeValue] = {"holo.subgoal.number": event.subgoal} | _flow_run(event)
                self._scopes[event.subgoal] = _Scope(self._begun("holo.subgoal", self._run, began_ns, told))
        scope = self._scopes.get(event.subgoal)
        if scope is None:
            scope = self._scopes.setdefault(0, _Scope(self._run))
        if event.step and event.step != scope.number:
            self._end_step(scope, began_ns)
            scope.number = event.step
            scope.step = self._begun("holo.step", scope.span, began_ns, {"holo.step.number": event.step})
        return scope

    def _tell(self, event: events.Event, scope: _Scope, began: int, now: int) -> None:
        match event:
            case events.FrameTaken():
                self._looked(event, scope, began)
            case events.RequestSent() | events.ReplyReceived() | events.CallFailed():
                self._asked(event, scope, now)
            case events.Decided() | events.Permitted():
                self._decided(event, scope)
            case events.ActionIntended() | events.ActionDone() | events.ActionFailed() | events.LookedAgain():
                self._acted(event, scope, began, now)
            case events.Judged():
                scope.outcome = event.outcome
                self._verified(scope, began)
            case events.StepTimed():
                self._end_step(scope, began)
            case events.HandedOver():
                self.meters.count(names.HANDOFFS)
            case events.Skipped():
                self.meters.count(names.ITEMS, len(event.items), outcome="skipped")
            case events.SubgoalClosed() | events.RunClosed():
                self._closed(event, scope, now)

    # ---- the doors

    def _looked(self, event: events.FrameTaken, scope: _Scope, at_ns: int) -> None:
        """Tell of the doors that a picture came through: one after the other, up to when it was recorded."""
        passed: tuple[tuple[Door, int], ...] = (
            ("encode", event.encode_us),
            ("redact", event.redact_us),
            ("capture", event.capture_us),
            ("wait", event.waited_us),
            ("settle", event.settle_us - event.waited_us),
        )
        for door, took_us in passed:
            at_ns -= took_us * 1000
            # The very same picture as before is not encoded again, and most programs need not be waited for.
            if took_us or door not in ("encode", "wait"):
                self._door(door, scope.inner, at_ns, took_us * 1000)
        if (kept := self._kept.pop(event.sha256, None)) is not None:
            self._door("record", scope.inner, *kept)

    def _asked(
        self, event: events.RequestSent | events.ReplyReceived | events.CallFailed, scope: _Scope, now: int
    ) -> None:
        if isinstance(event, events.RequestSent):
            scope.asked, scope.asked_ns = event, now
            return
        asked, scope.asked = scope.asked, None
        if asked is None:
            return
        told: dict[str, AttributeValue] = {"holo.purpose": asked.purpose, "holo.attempt": asked.attempt}
        if isinstance(event, events.CallFailed):
            outcome = "failed_for_now" if event.transient else "failed"
            self.meters.count(names.CALLS, purpose=asked.purpose, outcome=outcome)
            self._door("predict", scope.inner, scope.asked_ns, now - scope.asked_ns, told, failed=True)
            return
        self.meters.count(names.CALLS, purpose=asked.purpose, outcome="replied")
        tokens = {"prompt": event.prompt_tokens, "cached": event.cached_tokens, "completion": event.completion_tokens}
        for kind, number in tokens.items():
            self.meters.count(names.TOKENS, number, type=kind)
            told[f"holo.tokens.{kind}"] = number
        if event.cost_micro_usd is not None:
            self.meters.count(names.COST, event.cost_micro_usd / MICRO)
            told["holo.cost.usd"] = event.cost_micro_usd / MICRO
        self._door("predict", scope.inner, scope.asked_ns, event.latency_us * 1000, told)

    def _decided(self, event: events.Decided | events.Permitted, scope: _Scope) -> None:
        if isinstance(event, events.Permitted):
            scope.refused = not event.allowed  # until a person says yes
            return
        scope.decided = event
        told: dict[str, AttributeValue] = {
            "holo.tool": listed(event.tool_name, names.TOOLS),
            "holo.cached": event.cached,
        }
        scope.step.set_attributes(told)

    def _acted(
        self,
        event: events.ActionIntended | events.ActionDone | events.ActionFailed | events.LookedAgain,
        scope: _Scope,
        at_ns: int,
        now: int,
    ) -> None:
        if isinstance(event, events.ActionIntended):
            scope.intended_ns = now  # it is written down by now, and may be done
            return
        began, scope.intended_ns = scope.intended_ns, 0
        if isinstance(event, events.ActionDone):
            self._door("act", scope.inner, at_ns - event.took_us * 1000, event.took_us * 1000)
            self._verified(scope, at_ns)
            scope.verifying, scope.verifying_ns = self._begun("holo.verify", scope.inner, at_ns), at_ns
            return
        scope.outcome = "failed" if isinstance(event, events.ActionFailed) else "not_done"
        if began:
            self._door("act", scope.inner, began, at_ns - began, failed=True)

    def _verified(self, scope: _Scope, now: int) -> None:
        if scope.verifying is not None:
            scope.verifying.end(now)
            self.meters.passed("verify", (now - scope.verifying_ns) / 1e9)
            scope.verifying = None

    def _door(
        self,
        door: Door,
        inside: Span,
        began_ns: int,
        took_ns: int,
        told: dict[str, AttributeValue] | None = None,
        *,
        failed: bool = False,
    ) -> None:
        self.meters.passed(door, took_ns / 1e9)
        span = self._begun(f"holo.{door}", inside, began_ns, told)
        if failed:
            span.set_status(FAILED)
        span.end(began_ns + max(took_ns, 0))

    # ---- what they are a part of

    def _end_step(self, scope: _Scope, now: int) -> None:
        """End the step that is under way, if one is, and count it if it was decided on."""
        if scope.verifying is not None:
            scope.verifying.end(now)
            scope.verifying = None
        if scope.decided is not None:
            tool = listed(scope.decided.tool_name, names.TOOLS)
            self.meters.count(names.STEPS, outcome=scope.outcome, tool=tool)
            scope.step.set_attribute("holo.outcome", listed(scope.outcome, names.OUTCOMES))
        if scope.refused:
            self.meters.count(names.REFUSALS)
            scope.step.set_attribute("holo.refused", True)
        if scope.outcome == "failed" or scope.refused:
            scope.step.set_status(FAILED)
        if scope.step.is_recording():
            scope.step.end(now)
        scope.decided, scope.outcome, scope.refused, scope.intended_ns = None, "none", False, 0

    def _closed(self, event: events.SubgoalClosed | events.RunClosed, scope: _Scope, now: int) -> None:
        self._end_step(scope, now)
        if scope.asked is not None:  # nobody waited for the reply any more
            self._door("predict", scope.span, scope.asked_ns, now - scope.asked_ns, failed=True)
        status = listed(event.status, names.STATUSES)
        told: dict[str, AttributeValue] = {"holo.status": status, "holo.steps": event.steps}
        if event.cost_micro_usd is not None:
            told["holo.cost.usd"] = event.cost_micro_usd / MICRO
        if isinstance(event, events.SubgoalClosed):
            layer = names.layers(event.layer)
            self.meters.count(names.SUBGOALS, status=status, layer=layer)
            told |= {"holo.layer": layer} if layer else {}
            del self._scopes[event.subgoal]
        else:
            self.meters.count(names.RUNS, status=status)
        scope.span.set_attributes(told)
        if status not in ("answered", "needs_person"):
            scope.span.set_status(FAILED)
        scope.span.end(now)

    def _begun(self, name: str, inside: Span | None, at_ns: int, told: dict[str, AttributeValue] | None = None) -> Span:
        """Begin a span inside another one, or inside what is under way here; that of a sub-goal tells of the latter."""
        here = get_current_span().get_span_context()
        links = [Link(here)] if name == "holo.subgoal" and here.is_valid else []
        context = None if inside is None else set_span_in_context(inside)
        return self.tracer.start_span(name, context=context, attributes=told, links=links, start_time=at_ns)


@dataclass(frozen=True)
class _Heard:
    """Records, and has a watch hear of it, with how long that took."""

    recorder: Recorder
    watch: RunSpans

    async def keep(self, shot: Shot | Attachment) -> None:
        began = self.watch.now_ns()
        await self.recorder.keep(shot)
        self.watch.kept(shot.sha256, began)

    async def record(self, event: events.Event) -> None:
        began = self.watch.now_ns()
        await self.recorder.record(event)
        self.watch.heard(event, began)


def _flow_run(event: events.RunOpened | events.SubgoalOpened) -> dict[str, AttributeValue]:
    return {"prefect.flow_run.id": event.flow_run_id} if event.flow_run_id else {}
