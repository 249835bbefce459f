"""The parts of one step of a sub-goal, in order: picture, decision, permission, input, judgement, history.

`loop.pursue` calls the methods of `Walk` in sequence, and the Prefect side makes tasks of `decide` and `act`. Each
event is recorded before anything relies on it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

from holo_tasks.core import events
from holo_tasks.core.errors import (
    HoloError,
    InvalidUsage,
    LimitReached,
    NeedsPerson,
    PolicyRefused,
    ScreenChanged,
    SecretRefused,
    UnsureReply,
    UnusableReply,
)
from holo_tasks.core.input.gestures import Click, Gesture, Pause, Receipt, Typed, Write
from holo_tasks.core.input.permit import Permit, Scene, action_digest, check_field
from holo_tasks.core.input.pressing import focus_after, tabbed_after
from holo_tasks.core.limits.budget import Guard
from holo_tasks.core.prompts.call_to_gesture import to_gesture
from holo_tasks.core.prompts.model import Request
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import ACTING, AnswerCall, AnyCall, MacroCall, WaitCall, label
from holo_tasks.core.prompts.transcript import NOTES_BYTES, ModelStep, Observed, StepResult, Strip, Transcript
from holo_tasks.core.screen.frame import LOST, Frame, RedactedFrame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.recheck import aim
from holo_tasks.core.screen.rest import Rest
from holo_tasks.core.screen.verdicts import ANYWHERE, Expected, Verdict, expected, judge
from holo_tasks.core.secrets.secret import CODE_BEGINS, check_written, names_in
from holo_tasks.loop.approval import ApprovalQuestion, await_approval, words_for
from holo_tasks.loop.ask_model.corrections import Corrections
from holo_tasks.loop.ask_model.predict import CallAccount, predict, prompt_tokens
from holo_tasks.loop.ask_model.take_picture import NewestScreen, corners, frame_taken, part_of, shot_of
from holo_tasks.loop.durable_notes import Notes
from holo_tasks.loop.event_values import plain
from holo_tasks.loop.gesture_limits import seconds_for, secrets_in, typed_until
from holo_tasks.loop.presses.click_retry import may_repeat, shifted_click
from holo_tasks.loop.presses.made_presses import MadePresses
from holo_tasks.loop.read_back import ReadBack
from holo_tasks.loop.services import Intent, Services
from holo_tasks.loop.words import DROPPED, TAKE_STOCK, result_text

LEAST_ROOM_TOKENS = 4096
"""Tokens left for a reply, or a quarter of a small context. With less room, the conversation loses its oldest steps."""
DECISION_VERSION = 2
"""Raise this number when a cached decision would be read or carried out in another way than before."""
STRIP_TURNS = 10  # number of last actions in the pictures for a stuck agent
PATIENCE_S = 5.0  # longest extension of a wait after the last sign of work
STILL_S = 0.25  # between two looks

Annotate = Callable[[RedactedFrame], RedactedFrame]
Whereabouts = Callable[[], Awaitable[tuple[str, bool]]]


@dataclass
class Walk:
    """The work on one sub-goal. It starts with an empty history.

    ``region`` is the part of the screen that the model sees; ``None`` for the whole screen. ``token`` is the business
    item's key. A click that changed nothing is repeated once if its target has one of the ``safe_to_repeat`` labels.
    Nothing is pressed unless the boxes of ``held`` are unchanged, in pixels of the shown part.
    """

    services: Services
    guard: Guard
    number: int
    transcript: Transcript
    region: Box | None = None
    token: str = ""
    safe_to_repeat: tuple[str, ...] = ()
    secrets: frozenset[str] | None = None
    """Names of the secrets that the decider may type; ``None`` for all secrets of the desktop."""
    whereabouts: Whereabouts | None = field(default=None, repr=False)
    """Returns the state of the screen after an action, and whether that state is acceptable."""
    macro: str = ""
    """Name of the sequence that the steps belong to, if the model has called one."""
    extends_waits: bool = True
    """Whether a wait is extended while the screen does not change."""
    held: tuple[Box, ...] = ()
    presses: MadePresses = field(default_factory=MadePresses, repr=False)
    typed: ReadBack = field(default_factory=ReadBack, repr=False)
    step: int = 0
    seen: NewestScreen | None = None
    _corrections: Corrections | None = field(default=None, repr=False)
    _attempt: int = 0
    _dropped_connections: int = 0
    _model_was_asked: bool = False
    _durations_us: dict[str, int] = field(default_factory=dict)
    verdict: Verdict | None = None
    """The effect of the last action that was judged."""
    _last_gesture: Gesture | None = None
    _focus: tuple[Point | None, Point | None, int] = (None, None, 0)
    """The click that the focus has followed, and the click that it has left by Tab. The number counts how often a
    person had the screen by then."""
    _expected: Expected = ANYWHERE
    _notes: Notes = field(default_factory=Notes, repr=False)

    # settle → capture → redact → encode → record

    async def look(self, *, after_action: bool = False, annotate: Annotate | None = None) -> NewestScreen:
        """Wait for the screen to settle, then make and record the picture for the model.

        ``annotate`` draws on the picture after redaction.
        """
        self.guard.check_time(self.services.now_s())
        started = self.services.now_s()
        frame = await self.services.desktop.look(after_action=after_action)
        if self.seen is not None and frame.reconnected > self._dropped_connections:
            await self._note(events.Interrupted(name=DROPPED, times=frame.reconnected))
        self._dropped_connections = frame.reconnected
        taken = self.services.now_s()
        whole = await self.services.redactor.redact(frame)
        redact_us = _micros(self.services.now_s() - taken)
        self.presses.looked(whole.frame)
        redacted = whole.crop(part_of(frame, self.region))
        if annotate is not None:
            redacted = await asyncio.to_thread(annotate, redacted)
        shot = await shot_of(redacted, self.services.encoder, self.seen, self.services.correction)
        await self._notes.begin(self.services.recorder.keep(shot))
        await self._note(frame_taken(frame, shot, redacted, self.services.text_filter, redact_us=redact_us))
        self._durations_us["wait"] = frame.activity.waited_ns // 1000
        self._durations_us["perceive"] = _micros(self.services.now_s() - started) - self._durations_us["wait"]
        withheld = any(mask.kind == LOST for mask in whole.masks)
        self.seen = NewestScreen(frame, shot, whole.frame, redacted.frame, withheld, whole.masks)
        return self.seen

    # predict → parse

    async def decide(self, *, answer_only: bool = False) -> Step:
        """Ask the model for the next step. May be called again after a transient fault.

        Raises `ModelFailed` if the model gives no usable step after all corrections.
        """
        started = self.services.now_s()
        model = self.services.model
        if self.services.elements is not None:
            self.services.elements.read_ahead()
        self._corrections = corrections = self._corrections or Corrections(self.services.corrections)
        while True:
            request = self.request(answer_only=answer_only)
            self._attempt += 1
            reply = await predict(model, request, self.call_account, attempt=self._attempt, purpose="step")
            try:
                step = model.dialect.parse(reply, answer_only=answer_only)
                break
            except UnusableReply as error:
                corrections.count(error, reply, "step")
                await self._record(events.Corrected(reason=str(error)))
                if isinstance(error, UnsureReply):
                    await self._look_again()
        self._corrections, self._attempt = None, 0
        self._durations_us["decide"] = _micros(self.services.now_s() - started)
        self._model_was_asked = True
        return step

    def request(self, *, answer_only: bool = False) -> Request:
        """Return the next request. The oldest steps are removed until it fits the model's context.

        Raises `InvalidUsage` if the task and the newest steps alone do not fit.
        """
        model = self.services.model
        quarter = model.context_tokens // 4
        correction = self._corrections.last if self._corrections else None
        while True:
            request = model.dialect.request(self.transcript, correction=correction, answer_only=answer_only)
            most = int(request.body["max_tokens"])
            room = model.context_tokens - prompt_tokens(request)
            if room >= min(most, LEAST_ROOM_TOKENS, quarter):
                request.body["max_tokens"] = min(most, room)
                return request
            shorter = self.transcript.compacted(min(NOTES_BYTES, 3 * quarter))
            if shorter is None:
                raise InvalidUsage(
                    f"The goal and the newest screens do not fit the {model.context_tokens} tokens that {model.name} "
                    "can read; shorten the goal, or send smaller pictures."
                )
            self.transcript = shorter

    def situation(self, *, answer_only: bool = False) -> str:
        """Return a digest of all that the model's decision depends on: endpoint, model, prompt, schema and history.

        It also covers the frames and the settings by which the dialect reads a reply. One changed digit on the screen
        changes the digest.
        """
        request = self.request(answer_only=answer_only)
        reported = {name: value for name, value in request.body.items() if name != "max_tokens"}
        pictures = [(shot.frame_digest, shot.sha256, str(shot.area)) for shot in request.shots]
        model = self.services.model
        reading = model.dialect.reading
        # The messages also contain the pictures. The digests of the frames make the comparison exact.
        text = json.dumps([DECISION_VERSION, model.client.endpoint, reading, reported, pictures], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    async def record_decision(self, step: Step, *, scripted: bool = False) -> None:
        """Record a decision. A decision of the model that came from the cache is marked."""
        call = step.tool_call
        cached, self._model_was_asked = not self._model_was_asked and not scripted, False
        if cached:
            self._durations_us["decide"] = 0
        # An answer must be durable before anyone gets it.
        write = self._record if isinstance(call, AnswerCall) else self._note
        await write(
            events.Decided(
                note=step.note,
                thought=step.thought,
                tool_name=call.tool_name,
                arguments=plain(call.model_dump(exclude={"tool_name"})),
                label=label(call),
                confidence="" if step.confidence is None else f"{step.confidence:g}",
                cached=cached,
                macro=self.macro,
            )
        )

    @property
    def call_account(self) -> CallAccount:
        """The guard and the recorder for this sub-goal's calls."""
        return CallAccount(self.guard, self._record, self.services.now_s, self.services.purse, self._note)

    async def _look_again(self) -> None:
        """Replace the screen that the model was unsure about by a new one."""
        await self.look()
        self.show()

    def show(self, text: str = "") -> None:
        """Replace the screen of the next decision by the newest one, with a text about the meantime."""
        self.transcript = self.transcript.also(self._newest_screen().shot, text)

    # scale → permit → act

    async def act(self, step: Step) -> str:
        """Do a step once, and return the text for the model.

        Raises `PolicyRefused` before any input if the action is not allowed. Raises `ScreenChanged` before any press if
        the target area differs from the screen of the decision.
        """
        call = step.tool_call
        gesture = to_gesture(call, self._newest_screen().shot)
        if gesture is None:
            raise ValueError(f"{call.tool_name} is nothing for hands")
        left_out = await self._carry_out(call, gesture, named=not step.replaced)
        return f"Done: {call.tool_name}. {left_out}".rstrip()

    async def _carry_out(self, call: AnyCall, gesture: Gesture, *, named: bool = True) -> str:
        """Check, record and do a gesture, then record its end; return a sentence about any omitted part.

        ``named`` is whether the decider named the gesture's secrets by their placeholders. Otherwise it wrote a text
        that contains a secret unknowingly, so no correction is sent.
        """
        seen = self._newest_screen()
        self._last_gesture, self._expected = None, ANYWHERE
        self.guard.check_time(self.services.now_s())
        field = await self._check_written(gesture, seen.frame) if isinstance(gesture, Write) and named else None
        acting = isinstance(call, ACTING)
        permit = await self._permit_within_limits(seen, call, gesture) if acting else None
        elements = self.services.elements
        await self._record(
            events.ActionIntended(
                gesture_kind=type(gesture).__name__.lower(),
                gesture=plain(asdict(gesture)),
                label=label(call),
                before=seen.shot.sha256,
                element=await elements.hit(gesture, seen.masks) if elements else {},
            )
        )
        await self.typed.prepare(self.services, gesture)
        intent = await self._intend(call, seen) if acting else None
        clicked, tabbed = self._focus_clicks(seen.frame)
        self._focus = (None, None, 0)
        receipt = await self._send(seen, gesture, permit, field, intent, (clicked, tabbed))
        self._report_secrets(gesture, receipt.typed)
        if intent is not None:
            await intent.done()
        await self._note(events.ActionDone(took_us=receipt.took_ns // 1000, input_events=receipt.events))
        self._last_gesture = gesture
        self.presses.record(gesture, seen.redacted, self.services.now_s())
        self._focus = focus_after(gesture, clicked), tabbed_after(gesture, clicked, tabbed), seen.frame.holds
        if receipt.left_out:
            await self._record(events.Corrected(reason=receipt.left_out))
        return receipt.left_out

    async def _permit_within_limits(self, seen: NewestScreen, call: AnyCall, gesture: Gesture) -> Permit:
        """Return the permit for an action within the limits, and store the place of its expected effect."""
        self.guard.check_action()
        permit = await self._ask_policy(seen, call, gesture)
        where = aim(gesture)
        focused = where is not None and not where.points
        self._expected = expected(gesture, (await self.services.desktop.owner_at(None)).box if focused else None)
        return permit

    async def _intend(self, call: AnyCall, seen: NewestScreen) -> Intent | None:
        """Count an action, and write it into the journal if there is one, before it is done."""
        if self.services.purse is not None:
            await self.services.purse.count_action(self.guard)
        self.guard.check_action()  # other tasks may have acted meanwhile; the count follows at once
        self.guard.count_action()
        journal = self.services.journal
        return Intent(journal, await journal.intend(label(call), seen.shot.sha256)) if journal else None

    async def _send(
        self,
        seen: NewestScreen,
        gesture: Gesture,
        permit: Permit | None,
        field: Box | None,
        intent: Intent | None,
        keyed: tuple[Point | None, Point | None],
    ) -> Receipt:
        """Send a gesture to the desktop. After an error, record what may have been sent."""
        services, guard, started = self.services, self.guard, self.services.now_s()
        try:
            codes = await self._reserve_codes(gesture, intent)
            until_s, frame = (
                services.now_s() + seconds_for(gesture, field),
                seen.frame.number if services.recheck else 0,
            )
            shown = seen.shot.region or Box(0, 0, 0, 0)
            held = tuple(box.moved(shown.left, shown.top) for box in self.held)
            input_permit = permit.input_permit(gesture, until_s, frame, field, codes, held) if permit else None
            return await services.desktop.do(gesture, deadline=guard.deadline_s, input_permit=input_permit)
        except (InvalidUsage, SecretRefused, ScreenChanged) as error:
            self._report_secrets(gesture, error.typed)
            if not error.typed:  # a gesture is checked as a whole before its first input: nothing was sent
                self._focus = *keyed, seen.frame.holds
            if intent is not None:
                await (intent.done() if error.typed else intent.void())
            changed = isinstance(error, ScreenChanged)
            await self._record((events.LookedAgain if changed else events.ActionFailed)(reason=str(error)))
            raise
        except BaseException as error:
            # Also after a cancellation: a flow may catch its limit, and look at the same screen again.
            self._report_secrets(gesture, typed_until(error, gesture, seen.frame))
            if not isinstance(error, HoloError):
                raise
            late = guard.late() if isinstance(error, LimitReached) else None  # names the scope of the deadline
            await self._record(events.ActionFailed(reason=str(late or error)))
            raise late or error from None
        finally:
            self._durations_us["act"] = _micros(services.now_s() - started)

    async def _reserve_codes(self, gesture: Gesture, intent: Intent | None) -> tuple[tuple[str, int], ...]:
        """Reserve the one-time codes of a gesture. If this fails, nothing is sent."""
        if self.services.one_time is None or not isinstance(gesture, Write) or CODE_BEGINS not in gesture.text:
            return ()
        try:
            return await self.services.one_time.take(names_in(gesture.text))
        except SecretRefused:
            raise
        except BaseException as error:
            error.typed = ()  # type: ignore[attr-defined]  # no secret is visible
            if intent is not None:
                await intent.void()
            raise

    async def _check_written(self, write: Write, frame: Frame) -> Box | None:
        """Return the field that a secret in a text is bound to, or ``None``.

        Raises an error if the text names a secret that must not be typed, or not in this way. Nothing is typed then.
        """
        field = None
        try:
            check_written(write.text, self.secrets)
            moved = not set(write.text.partition("{{")[0]).isdisjoint("\t\r\n")
            for name in names_in(write.text):
                labels = self.services.secret_fields.get(name, ())
                field = await check_field(name, labels, write.at, self.scene(frame), moved=moved)
        except (InvalidUsage, SecretRefused) as error:
            await self._record(events.Corrected(reason=str(error)))
            raise
        return field

    def _report_secrets(self, gesture: Gesture, typed: Sequence[Typed]) -> None:
        """Report the places where secrets are visible, or that a secret was typed and is visible nowhere yet."""
        if typed or secrets_in(gesture):
            self.services.codes.keep()
            self.services.typed(typed)

    def _focus_clicks(self, frame: Frame) -> tuple[Point | None, Point | None]:
        """Return the clicks that the focus has followed and left by Tab since a person had the screen."""
        clicked, tabbed, holds = self._focus
        return (clicked, tabbed) if holds == frame.holds else (None, None)

    def scene(self, frame: Frame) -> Scene:
        """Return the screen of an action, with the functions that policies may ask."""
        services, (clicked, tabbed) = self.services, self._focus_clicks(frame)
        tree = services.elements.read_once() if services.elements else None
        return Scene(frame, services.desktop.owner_at, services.reader, services.desktop.look, clicked, tabbed, tree)

    async def _ask_policy(self, seen: NewestScreen, call: AnyCall, gesture: Gesture) -> Permit:
        """Return the policy's permit for an action, with a person's approval if one is needed.

        Raises `PolicyRefused` without a permit, and `NeedsPerson` if the question is still open.
        """
        services = self.services
        permit = await services.policy.permit(call, gesture, self.scene(seen.frame))
        await self._note(events.Permitted(allowed=permit.allowed, rule=permit.rule))
        if permit.asks and services.approver is not None:
            digest = action_digest(call, gesture, permit.owner)
            called = services.elements.name_lookup(seen.masks) if services.elements else None
            words, points = await words_for(permit.rule, gesture, seen.redacted, services.reader, called)
            asked = ApprovalQuestion(self.token, digest, seen.redacted.digest, words, seen.shot.sha256, points)
            try:
                by = await await_approval(services.approver, asked, self.look_redacted)
            except NeedsPerson as error:
                if not error.handoff:  # a hand-off is recorded when it begins
                    await self._record(events.HandedOver(question=str(error)))
                raise
            self.guard.check_time(services.now_s())
            permit = replace(permit, allowed=True, rule=f"{by} said yes", asks=False)
            await self._record(events.Permitted(allowed=True, rule=permit.rule))
        if not permit.allowed:
            raise PolicyRefused(permit.rule)
        return permit

    # verify → record

    async def verify(self, before: NewestScreen, call: AnyCall, *, started_s: float, repeat: bool = True) -> str:
        """Take a new settled frame, judge the action's effect, and return the outcome as text for the model.

        ``started_s`` is the time at which the step began, before its decision. Without ``repeat``, a click is never
        repeated.
        """
        if isinstance(call, WaitCall) and self.extends_waits:
            await self._extend_wait(before, call.seconds)
        verdict = await self._judge_action(before)
        after, labels = self._newest_screen(), self.safe_to_repeat
        sentence = verdict.sentence + await self.typed.sentence(
            self.services, before, after, self._last_gesture, self._note
        )
        # The effect of an action on another machine may come later still.
        near = not getattr(self.services.desktop, "far", "")
        if verdict.outcome == "unchanged" and labels and repeat and near:
            done, reader = self._last_gesture, self.services.reader
            if await may_repeat(done, before.frame, after.frame, labels, reader) and isinstance(done, Click):
                sentence = await self._repeat_click(after, call, done)
        await self._record_times(started_s)
        return result_text(sentence, before, self._newest_screen())

    async def _judge_action(self, before: NewestScreen) -> Verdict:
        """Take a new settled frame, and judge the last action by it."""
        after = await self.look(after_action=True)
        # Changes under a mask are not judged: their place and frequency would reveal something.
        verdict = judge(before.redacted, after.redacted, self._expected)
        state, right = await self.whereabouts() if self.whereabouts else ("", True)
        if not right and verdict.outcome in ("changed", "elsewhere"):
            verdict = replace(verdict, outcome="wrong_state")
        self.verdict = verdict
        await self._note(
            events.Judged(
                outcome=verdict.outcome,
                before=before.shot.sha256,
                after=after.shot.sha256,
                changed_box=corners(verdict.box),
                state=state,
            )
        )
        return verdict

    async def _repeat_click(self, before: NewestScreen, call: AnyCall, done: Click) -> str:
        """Repeat a click a few pixels away, with all checks; return the outcome as text for the model."""
        click, dx, dy = shifted_click(done, before.frame.size)
        await self._record(events.Repeated(reason="it changed nothing, and is safe to repeat", dx=dx, dy=dy))
        try:
            await self._carry_out(call, click)
        except ScreenChanged as error:
            await self.look()
            return f"The screen did not change at once. {error}"
        return (
            f"The screen did not change, so the click was repeated once. {(await self._judge_action(before)).sentence}"
        )

    async def look_after_change(self, step: Step, outcome: str, *, started_s: float) -> None:
        """Take a new frame after an action that was withheld because the screen had changed."""
        await self.look()
        await self._record_times(started_s)
        self.remember(step, outcome, is_error=True, unsent=True)

    async def _record_times(self, started_s: float) -> None:
        await self._note(
            events.StepTimed(
                perceive_us=self._durations_us.get("perceive", 0),
                decide_us=self._durations_us.get("decide", 0),
                act_us=self._durations_us.get("act", 0),
                waiting_us=self._durations_us.get("wait", 0),
                total_us=_micros(self.services.now_s() - started_s),
            )
        )

    async def look_redacted(self) -> Frame:
        """Return a new redacted frame."""
        return (await self.services.redactor.redact(await self.services.desktop.look())).frame

    async def _extend_wait(self, before: NewestScreen, asked_s: float) -> None:
        """Extend a wait while the screen does not change.

        The extension ends when the program has been at rest for a while. It lasts at most four times the length of the
        wait, and at most `PATIENCE_S`, after the last sign of work.
        """
        services = self.services
        rest = Rest(min(PATIENCE_S, 4 * asked_s), services.now_s())
        while not rest.is_over(services.now_s()):
            now = await services.desktop.look()
            if (
                now.rgb != before.frame.rgb
                and (await services.redactor.redact(now)).frame.digest != before.redacted.digest
            ):
                return
            rest.look_at(now, services.now_s())
            await self.pause(min(STILL_S, asked_s))

    async def pause(self, seconds: float) -> None:
        """Let the program work for some seconds, but not past a deadline."""
        self.guard.check_time(self.services.now_s())
        try:
            await self.services.desktop.do(Pause(seconds), deadline=self.guard.deadline_s)
        except LimitReached as error:
            raise self.guard.late() or error from None

    async def report_stuck(self, *, pictures: bool) -> str:
        """Tell the model that it is stuck, and show its last actions if ``pictures`` are wanted.

        Returns the digest of the pictures. It is an empty string if the model sees only one picture at a time.
        """
        *before, reported, seen = self.transcript.entries
        assert isinstance(reported, StepResult)
        assert isinstance(seen, Observed)
        if pictures and self.services.model.image_budget > 1:
            turns = self.transcript.turns[-STRIP_TURNS:]
            strip = await asyncio.to_thread(self.services.encoder.strip, turns)
            await self.services.recorder.keep(strip)
            seen = replace(seen, strip=Strip(strip, len(turns)))
        reported = replace(reported, text=f"{reported.text}\n{TAKE_STOCK}")
        self.transcript = replace(self.transcript, entries=(*before, reported, seen))
        return seen.strip.shot.sha256 if seen.strip else ""

    def remember(self, step: Step, outcome: str, *, is_error: bool = False, unsent: bool = False) -> None:
        """Add a step, its outcome and the newest screen to the history."""
        if step.call_id and step.call_id in self.transcript.call_ids:
            # Some servers count their calls from zero again in each reply.
            step = step.model_copy(update={"call_id": f"{step.call_id}_{self.step}"})
        call = step.tool_call
        tool = call.name if isinstance(call, MacroCall) else call.tool_name
        came = StepResult(tool, outcome, is_error, unsent)
        self.transcript = self.transcript.extended(ModelStep(step), came, Observed(self._newest_screen().shot))

    def walk_for_macro(self, macro: str) -> Walk:
        """Return a walk for a sequence that the model has called, with the same services and a history of its own.

        The sequence names its secrets itself, and no person is asked in it.
        """
        return replace(
            self,
            services=replace(self.services, person=None, correction=None),
            transcript=Transcript(macro),
            secrets=None,
            macro=macro,
            whereabouts=None,
            seen=None,
            _corrections=None,
            _attempt=0,
            _model_was_asked=False,
            _durations_us={},
        )

    def continue_from(self, aside: Walk) -> None:
        """Continue from the state in which another walk has left the program."""
        self.step, self._focus = aside.step, aside._focus
        self.seen = aside.seen or self.seen

    def begin(self) -> None:
        """Add the first screen to the history."""
        self.transcript = self.transcript.extended(Observed(self._newest_screen().shot))

    async def record(self, event: events.Event) -> None:
        """Record an event of this sub-goal."""
        await self._record(event)

    async def _record(self, event: events.Event) -> None:
        """Record an event. On return it is durable, together with all earlier events."""
        await self._note(event)
        await self._notes.wait_until_durable()

    async def _note(self, event: events.Event) -> None:
        """Record an event without waiting until it is durable."""
        stamped = event.model_copy(update={"subgoal": self.number, "step": self.step})
        await self._notes.begin(self.services.recorder.record(stamped))

    def _newest_screen(self) -> NewestScreen:
        if self.seen is None:
            raise InvalidUsage("Look at the screen before deciding or acting.")
        return self.seen


def _micros(seconds: float) -> int:
    return round(seconds * 1_000_000)
