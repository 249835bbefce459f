"""Turn the recorded events of one run into spans and counts.

`RunSpans` reads only the events' kinds, times, counts and values from the closed lists of `names`. It never reads text
from an event. `observer_factory` creates it when a collector is configured.
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
from holo_tasks.core.ports import Recorder
from holo_tasks.core.screen.frame import Shot
from holo_tasks.telemetry import names
from holo_tasks.telemetry.meters import Meters
from holo_tasks.telemetry.names import Door, listed_or_other
from holo_tasks.telemetry.run_observer import RunObserver

FLUSH_S, KILLED_FLUSH_S = 3.0, 0.5
"""How long the end of a run waits for telemetry to be sent, in seconds; the second value is for a killed run. Data
still unsent after that may be lost when the process exits."""
MAX_KEEP_TIMES = 64
"""Upload times held for pictures whose event has not been recorded yet. The oldest is dropped first."""
FAILED = Status(StatusCode.ERROR)
MICRO = 1_000_000

logger = logging.getLogger("holo_tasks")


@dataclass
class _Scope:
    """A sub-goal or the run itself: its span, the current step, and what that step has started but not ended."""

    span: Span
    step: Span = INVALID_SPAN
    number: int = 0
    verifying: Span | None = None
    verifying_ns: int = 0
    request: events.RequestSent | None = None
    requested_ns: int = 0
    intended_ns: int = 0
    decided: events.Decided | None = None
    outcome: str = "none"
    refused: bool = False

    @property
    def current(self) -> Span:
        """The span that the next stage is a child of: the verification, else the step, else the scope's own span."""
        if self.verifying is not None:
            return self.verifying
        return self.step if self.number else self.span


@dataclass
class RunSpans(RunObserver):
    """Exports spans and counts of one run, over all its desktops."""

    tracer: Tracer
    meters: Meters
    flush: Callable[[], None]
    now_ns: Callable[[], int] = time.time_ns
    _run: Span = INVALID_SPAN
    _scopes: dict[int, _Scope] = field(default_factory=dict)
    _keep_times: dict[str, tuple[int, int]] = field(default_factory=dict)
    _broken: bool = False

    def recorder(self, recorder: Recorder) -> Recorder:
        return _ObservedRecorder(recorder, self)

    def item(self, status: str, layer: str) -> None:
        self.meters.count(names.ITEMS, outcome=status, layer=names.last_layer(layer))

    def limit(self, name: str) -> None:
        self.meters.count(names.LIMITS_HIT, limit=name)

    async def send_all(self, *, killed: bool) -> None:
        timeout_s = KILLED_FLUSH_S if killed else FLUSH_S
        loop, sent = asyncio.get_running_loop(), asyncio.Event()

        def send() -> None:
            try:
                self.flush()
            finally:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(sent.set)

        # A daemon thread: a collector that hangs must not keep the process from exiting.
        threading.Thread(target=send, name="telemetry", daemon=True).start()
        try:
            await asyncio.wait_for(sent.wait(), timeout_s)
        except TimeoutError:
            logger.info(
                "Telemetry was not delivered within %g s; spans and metrics of this run may be lost.", timeout_s
            )

    # ---- called by the recorder

    def on_kept(self, sha256: str, began_ns: int) -> None:
        """Remember how long storing a picture took, until the event that refers to the picture is recorded."""
        while len(self._keep_times) >= MAX_KEEP_TIMES:
            del self._keep_times[next(iter(self._keep_times))]
        self._keep_times[sha256] = (began_ns, self.now_ns() - began_ns)

    def on_event(self, event: events.Event, began_ns: int) -> None:
        """Update spans and counts for an event that has been recorded. ``began_ns`` is when recording it began.

        Errors are logged once and never stop the run.
        """
        try:
            now = self.now_ns()
            scope = self._scope(event, began_ns)
            self._dispatch(event, scope, began_ns, now)
            self._record_stage("record", scope.current, began_ns, now - began_ns)
        except Exception:  # telemetry must not stop a run
            if not self._broken:
                self._broken = True
                logger.warning(
                    "Telemetry of this run failed and is incomplete; the run itself continues.", exc_info=True
                )

    def _scope(self, event: events.Event, began_ns: int) -> _Scope:
        """Return the scope an event belongs to. Open a sub-goal's or a step's span at its first event."""
        match event:
            case events.RunOpened():
                # A child of the current span, such as Prefect's flow run, if that is traced.
                self._run = self._start_span(
                    "holo.run", None, began_ns, {"holo.run.id": event.run_id} | _flow_run(event)
                )
                self._scopes[0] = _Scope(self._run)
            case events.SubgoalOpened():
                attributes: dict[str, AttributeValue] = {"holo.subgoal.number": event.subgoal} | _flow_run(event)
                self._scopes[event.subgoal] = _Scope(self._start_span("holo.subgoal", self._run, began_ns, attributes))
        scope = self._scopes.get(event.subgoal)
        if scope is None:
            scope = self._scopes.setdefault(0, _Scope(self._run))
        if event.step and event.step != scope.number:
            self._end_step(scope, began_ns)
            scope.number = event.step
            scope.step = self._start_span("holo.step", scope.span, began_ns, {"holo.step.number": event.step})
        return scope

    def _dispatch(self, event: events.Event, scope: _Scope, began: int, now: int) -> None:
        match event:
            case events.FrameTaken():
                self._on_frame(event, scope, began)
            case events.RequestSent() | events.ReplyReceived() | events.CallFailed():
                self._on_model_call(event, scope, now)
            case events.Decided() | events.Permitted():
                self._on_decision(event, scope)
            case events.ActionIntended() | events.ActionDone() | events.ActionFailed() | events.LookedAgain():
                self._on_action(event, scope, began, now)
            case events.Judged():
                scope.outcome = event.outcome
                self._end_verification(scope, began)
            case events.StepTimed():
                self._end_step(scope, began)
            case events.HandedOver():
                self.meters.count(names.HANDOFFS)
            case events.Skipped():
                self.meters.count(names.ITEMS, len(event.items), outcome="skipped")
            case events.SubgoalClosed() | events.RunClosed():
                self._on_closed(event, scope, now)

    # ---- stages

    def _on_frame(self, event: events.FrameTaken, scope: _Scope, at_ns: int) -> None:
        """Record the stages of a frame, working backwards from the time at which its event was recorded."""
        stages: tuple[tuple[Door, int], ...] = (
            ("encode", event.encode_us),
            ("redact", event.redact_us),
            ("capture", event.capture_us),
            ("wait", event.waited_us),
            ("settle", event.settle_us - event.waited_us),
        )
        for door, took_us in stages:
            at_ns -= took_us * 1000
            # These two stages are often skipped: an unchanged frame is not encoded again, and most programs need no
            # wait.
            if took_us or door not in ("encode", "wait"):
                self._record_stage(door, scope.current, at_ns, took_us * 1000)
        if (keep_time := self._keep_times.pop(event.sha256, None)) is not None:
            self._record_stage("record", scope.current, *keep_time)

    def _on_model_call(
        self, event: events.RequestSent | events.ReplyReceived | events.CallFailed, scope: _Scope, now: int
    ) -> None:
        if isinstance(event, events.RequestSent):
            scope.request, scope.requested_ns = event, now
            return
        request, scope.request = scope.request, None
        if request is None:
            return
        attributes: dict[str, AttributeValue] = {"holo.purpose": request.purpose, "holo.attempt": request.attempt}
        if isinstance(event, events.CallFailed):
            outcome = "failed_for_now" if event.transient else "failed"
            self.meters.count(names.CALLS, purpose=request.purpose, outcome=outcome)
            self._record_stage(
                "predict", scope.current, scope.requested_ns, now - scope.requested_ns, attributes, failed=True
            )
            return
        self.meters.count(names.CALLS, purpose=request.purpose, outcome="replied")
        tokens = {"prompt": event.prompt_tokens, "cached": event.cached_tokens, "completion": event.completion_tokens}
        for kind, number in tokens.items():
            self.meters.count(names.TOKENS, number, type=kind)
            attributes[f"holo.tokens.{kind}"] = number
        if event.cost_micro_usd is not None:
            self.meters.count(names.COST, event.cost_micro_usd / MICRO)
            attributes["holo.cost.usd"] = event.cost_micro_usd / MICRO
        self._record_stage("predict", scope.current, scope.requested_ns, event.latency_us * 1000, attributes)

    def _on_decision(self, event: events.Decided | events.Permitted, scope: _Scope) -> None:
        if isinstance(event, events.Permitted):
            scope.refused = not event.allowed  # a later approval sets this back to false
            return
        scope.decided = event
        attributes: dict[str, AttributeValue] = {
            "holo.tool": listed_or_other(event.tool_name, names.TOOLS),
            "holo.cached": event.cached,
        }
        scope.step.set_attributes(attributes)

    def _on_action(
        self,
        event: events.ActionIntended | events.ActionDone | events.ActionFailed | events.LookedAgain,
        scope: _Scope,
        at_ns: int,
        now: int,
    ) -> None:
        if isinstance(event, events.ActionIntended):
            scope.intended_ns = now  # the intent is recorded; the action may begin
            return
        began, scope.intended_ns = scope.intended_ns, 0
        if isinstance(event, events.ActionDone):
            self._record_stage("act", scope.current, at_ns - event.took_us * 1000, event.took_us * 1000)
            self._end_verification(scope, at_ns)
            scope.verifying, scope.verifying_ns = self._start_span("holo.verify", scope.current, at_ns), at_ns
            return
        scope.outcome = "failed" if isinstance(event, events.ActionFailed) else "not_done"
        if began:
            self._record_stage("act", scope.current, began, at_ns - began, failed=True)

    def _end_verification(self, scope: _Scope, now: int) -> None:
        if scope.verifying is not None:
            scope.verifying.end(now)
            self.meters.record_duration("verify", (now - scope.verifying_ns) / 1e9)
            scope.verifying = None

    def _record_stage(
        self,
        door: Door,
        inside: Span,
        began_ns: int,
        took_ns: int,
        attributes: dict[str, AttributeValue] | None = None,
        *,
        failed: bool = False,
    ) -> None:
        self.meters.record_duration(door, took_ns / 1e9)
        span = self._start_span(f"holo.{door}", inside, began_ns, attributes)
        if failed:
            span.set_status(FAILED)
        span.end(began_ns + max(took_ns, 0))

    # ---- steps, sub-goals and the run

    def _end_step(self, scope: _Scope, now: int) -> None:
        """End the current step's span, if there is a step, and count it if it has a decision."""
        if scope.verifying is not None:
            scope.verifying.end(now)
            scope.verifying = None
        if scope.decided is not None:
            tool = listed_or_other(scope.decided.tool_name, names.TOOLS)
            self.meters.count(names.STEPS, outcome=scope.outcome, tool=tool)
            scope.step.set_attribute("holo.outcome", listed_or_other(scope.outcome, names.OUTCOMES))
        if scope.refused:
            self.meters.count(names.REFUSALS)
            scope.step.set_attribute("holo.refused", True)
        if scope.outcome == "failed" or scope.refused:
            scope.step.set_status(FAILED)
        if scope.step.is_recording():
            scope.step.end(now)
        scope.decided, scope.outcome, scope.refused, scope.intended_ns = None, "none", False, 0

    def _on_closed(self, event: events.SubgoalClosed | events.RunClosed, scope: _Scope, now: int) -> None:
        self._end_step(scope, now)
        if scope.request is not None:  # the call was abandoned before its reply
            self._record_stage("predict", scope.span, scope.requested_ns, now - scope.requested_ns, failed=True)
        status = listed_or_other(event.status, names.STATUSES)
        attributes: dict[str, AttributeValue] = {"holo.status": status, "holo.steps": event.steps}
        if event.cost_micro_usd is not None:
            attributes["holo.cost.usd"] = event.cost_micro_usd / MICRO
        if isinstance(event, events.SubgoalClosed):
            layer = names.last_layer(event.layer)
            self.meters.count(names.SUBGOALS, status=status, layer=layer)
            attributes |= {"holo.layer": layer} if layer else {}
            del self._scopes[event.subgoal]
        else:
            self.meters.count(names.RUNS, status=status)
        scope.span.set_attributes(attributes)
        if status not in ("answered", "needs_person"):
            scope.span.set_status(FAILED)
        scope.span.end(now)

    def _start_span(
        self, name: str, inside: Span | None, at_ns: int, attributes: dict[str, AttributeValue] | None = None
    ) -> Span:
        """Start a span as a child of ``inside``, or of the current OpenTelemetry context if that is ``None``.

        A sub-goal's span also links to the span in the current context, such as Prefect's flow run.
        """
        current = get_current_span().get_span_context()
        links = [Link(current)] if name == "holo.subgoal" and current.is_valid else []
        context = None if inside is None else set_span_in_context(inside)
        return self.tracer.start_span(name, context=context, attributes=attributes, links=links, start_time=at_ns)


@dataclass(frozen=True)
class _ObservedRecorder:
    """Recorder that passes everything on, and reports each picture and event with its duration to a `RunSpans`."""

    recorder: Recorder
    watch: RunSpans

    async def keep(self, shot: Shot | Attachment) -> None:
        began = self.watch.now_ns()
        await self.recorder.keep(shot)
        self.watch.on_kept(shot.sha256, began)

    async def record(self, event: events.Event) -> None:
        began = self.watch.now_ns()
        await self.recorder.record(event)
        self.watch.on_event(event, began)


def _flow_run(event: events.RunOpened | events.SubgoalOpened) -> dict[str, AttributeValue]:
    return {"prefect.flow_run.id": event.flow_run_id} if event.flow_run_id else {}
