"""The walk of one sub-goal: every door a screenshot and a decision go through, in order.

Each method is a door or a few of them; `core.loop` puts them in sequence, and the Prefect edge makes
tasks of `decide` and `act`. What happens is recorded before it is relied on.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

from holo_tasks.core import events
from holo_tasks.core.actions import ACTING, AnswerCall, AnyCall, MacroCall, WaitCall, label
from holo_tasks.core.budget import Guard
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
from holo_tasks.core.frame import LOST, Frame, RedactedFrame
from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.gestures import Click, Gesture, Pause, Receipt, Typed, Write
from holo_tasks.core.model import Request
from holo_tasks.core.permit import Permit, Scene, action_digest, check_field
from holo_tasks.core.pressing import focus_after, tabbed_after
from holo_tasks.core.recheck import aim
from holo_tasks.core.scaling import to_gesture
from holo_tasks.core.secret import CODE_BEGINS, check_written, names_in
from holo_tasks.core.step import Step
from holo_tasks.core.transcript import NOTES_BYTES, Did, Observed, Strip, Told, Transcript
from holo_tasks.core.verdicts import ANYWHERE, Expected, Verdict, expected, judge
from holo_tasks.loop.click_retry import beside, may_repeat
from holo_tasks.loop.consent import Asked, consent, words_for
from holo_tasks.loop.corrections import Corrections
from holo_tasks.loop.doors import Doors, Intent
from holo_tasks.loop.durable_notes import Notes
from holo_tasks.loop.event_values import plain
from holo_tasks.loop.gesture_limits import seconds_for, secrets_in, typed_until
from holo_tasks.loop.made_presses import MadePresses
from holo_tasks.loop.predict import Till, predict, prompt_tokens
from holo_tasks.loop.read_back import ReadBack
from holo_tasks.loop.take_picture import Seen, corners, frame_taken, part_of, shot_of
from holo_tasks.loop.words import DROPPED, TAKE_STOCK, told_of

LEAST_ROOM_TOKENS = 4096
"""Room that a reply is left in the model's context before old steps are taken out of the conversation; a quarter of a
small context."""
DECISION_VERSION = 2
"""To be raised when a kept decision would be read or acted on otherwise than before."""
STRIP_TURNS = 10
PATIENCE_S = 5.0
STILL_S = 0.25

Annotate = Callable[[RedactedFrame], RedactedFrame]
Whereabouts = Callable[[], Awaitable[tuple[str, bool]]]


@dataclass
class Walk:
    """A sub-goal being worked on. Starts with an empty history, which is what a sub-goal is for.

    ``region`` is the part of the screen that the model is shown, None for all of it. ``token`` names the business item.
    A click that changed nothing is done once more if what is read on its target is one of ``safe_to_repeat``. Nothing
    is pressed unless the screen still looks the same in the boxes of ``held``, in pixels of what is shown.
    """

    doors: Doors
    guard: Guard
    number: int
    transcript: Transcript
    region: Box | None = None
    token: str = ""
    safe_to_repeat: tuple[str, ...] = ()
    secrets: frozenset[str] | None = None
    """The names of the secrets that whoever decides may have typed; None for all that the desktop has."""
    whereabouts: Whereabouts | None = field(default=None, repr=False)
    """Tells the state of the newest screen, after an action, and whether it is one to be in."""
    macro: str = ""
    """The sequence that its steps belong to, where a model has called one."""
    waits_on: bool = True
    """Whether a wait goes on while the screen stays the very same."""
    held: tuple[Box, ...] = ()
    presses: MadePresses = field(default_factory=MadePresses, repr=False)
    typed: ReadBack = field(default_factory=ReadBack, repr=False)
    step: int = 0
    seen: Seen | None = None
    _corrections: Corrections | None = field(default=None, repr=False)
    _attempt: int = 0
    _dropped: int = 0
    _asked: bool = False
    _spans: dict[str, int] = field(default_factory=dict)
    _done: Gesture | None = None
    _focus: tuple[Point | None, Point | None, int] = (None, None, 0)
    """Where the click was that the keyboard has followed, where it was that it has left by Tab, and how often a person
    had had the screen by then."""
    _expected: Expected = ANYWHERE
    _notes: Notes = field(default_factory=Notes, repr=False)

    # settle → capture → redact → encode → record

    async def look(self, *, after_action: bool = False, annotate: Annotate | None = None) -> Seen:
        """Wait for the screen to settle, then make it something the model can be sent.

        ``annotate`` draws on what is left of the screen after redaction.
        """
        self.guard.check_time(self.doors.now_s())
        started = self.doors.now_s()
        frame = await self.doors.desktop.look(after_action=after_action)
        if self.seen is not None and frame.reconnected > self._dropped:
            await self._note(events.Interrupted(name=DROPPED, times=frame.reconnected))
        self._dropped = frame.reconnected
        taken = self.doors.now_s()
        whole = await self.doors.redactor.redact(frame)
        redact_us = _micros(self.doors.now_s() - taken)
        self.presses.looked(whole.frame)
        redacted = whole.crop(part_of(frame, self.region))
        if annotate is not None:
            redacted = await asyncio.to_thread(annotate, redacted)
        shot = await shot_of(redacted, self.doors.encoder, self.seen, self.doors.correction)
        await self._notes.begin(self.doors.recorder.keep(shot))
        await self._note(frame_taken(frame, shot, redacted, self.doors.tell, redact_us=redact_us))
        self._spans["wait"] = frame.activity.waited_ns // 1000
        self._spans["perceive"] = _micros(self.doors.now_s() - started) - self._spans["wait"]
        withheld = any(mask.kind == LOST for mask in whole.masks)
        self.seen = Seen(frame, shot, whole.frame, redacted.frame, withheld, whole.masks)
        return self.seen

    # predict → parse

    async def decide(self, *, answer_only: bool = False) -> Step:
        """Ask the model for the next step. May be called again after a transient fault.

        Raises `ModelFailed` when the model was corrected as often as it may be, and its reply still is no step.
        """
        started = self.doors.now_s()
        model = self.doors.model
        if self.doors.elements is not None:
            self.doors.elements.ahead()
        self._corrections = corrections = self._corrections or Corrections(self.doors.corrections)
        while True:
            request = self.request(answer_only=answer_only)
            self._attempt += 1
            reply = await predict(model, request, self.till, attempt=self._attempt, purpose="step")
            try:
                step = model.dialect.parse(reply, answer_only=answer_only)
                break
            except UnusableReply as error:
                corrections.count(error, reply, "step")
                await self._record(events.Corrected(reason=str(error)))
                if isinstance(error, UnsureReply):
                    await self._look_again()
        self._corrections, self._attempt = None, 0
        self._spans["decide"] = _micros(self.doors.now_s() - started)
        self._asked = True
        return step

    def request(self, *, answer_only: bool = False) -> Request:
        """Return the next request, made to fit the model's context: the oldest steps go first.

        Raises `InvalidUsage` when not even the task and the newest steps fit.
        """
        model = self.doors.model
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
        """Return a digest of all that the model's decision rests on: endpoint, model, prompt, schema, goal, history,
        the pictures, pixel by pixel, and what the dialect reads a reply by. One changed digit on the screen makes it
        another situation.
        """
        request = self.request(answer_only=answer_only)
        told = {name: value for name, value in request.body.items() if name != "max_tokens"}
        pictures = [(shot.frame_digest, shot.sha256, str(shot.area)) for shot in request.shots]
        model = self.doors.model
        reading = model.dialect.reading
        # The pictures' bytes are in the messages, too; their digests are what makes this exact.
        text = json.dumps([DECISION_VERSION, model.client.endpoint, reading, told, pictures], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    async def decided(self, step: Step, *, scripted: bool = False) -> None:
        """Write down a decision; one of the model's that came from the cache is marked."""
        call = step.tool_call
        cached, self._asked = not self._asked and not scripted, False
        if cached:
            self._spans["decide"] = 0
        # An answer is what all of it was for: nobody gets one that is not written down.
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
    def till(self) -> Till:
        """Where this sub-goal's calls are charged and written down."""
        return Till(self.guard, self._record, self.doors.now_s, self.doors.purse, self._note)

    async def _look_again(self) -> None:
        """Show the model the screen as it is by now, in the place of the one it was unsure about."""
        await self.look()
        self.show()

    def show(self, text: str = "") -> None:
        """Put the newest screen in the place of the one that was to be decided on, and tell what happened meanwhile."""
        self.transcript = self.transcript.also(self._seen().shot, text)

    # scale → permit → act

    async def act(self, step: Step) -> str:
        """Do what the step asks for, once, and return what the model is told of it.

        Raises `PolicyRefused` before any input event if the action is not allowed, and `ScreenChanged` before any press
        if the screen is not, where it would go, what it was decided on.
        """
        call = step.tool_call
        gesture = to_gesture(call, self._seen().shot)
        if gesture is None:
            raise ValueError(f"{call.tool_name} is nothing for hands")
        left_out = await self._carry_out(call, gesture, named=not step.replaced)
        return f"Done: {call.tool_name}. {left_out}".rstrip()

    async def _carry_out(self, call: AnyCall, gesture: Gesture, *, named: bool = True) -> str:
        """Have a gesture permitted, written down, done, and written down as done; return what was left out of it.

        ``named`` says that whoever decided it named the secrets in it; else they wrote what is typed as it is, under
        the secret's binding: who does not know that it is one has nothing to correct.
        """
        seen = self._seen()
        self._done, self._expected = None, ANYWHERE
        self.guard.check_time(self.doors.now_s())
        field = await self._check_written(gesture, seen.frame) if isinstance(gesture, Write) and named else None
        acting = isinstance(call, ACTING)
        permit = await self._permitted(seen, call, gesture) if acting else None
        elements = self.doors.elements
        await self._record(
            events.ActionIntended(
                gesture_kind=type(gesture).__name__.lower(),
                gesture=plain(asdict(gesture)),
                label=label(call),
                before=seen.shot.sha256,
                element=await elements.hit(gesture, seen.masks) if elements else {},
            )
        )
        await self.typed.prepare(self.doors, gesture)
        intent = await self._intend(call, seen) if acting else None
        clicked, tabbed = self._keyed(seen.frame)
        self._focus = (None, None, 0)
        receipt = await self._send(seen, gesture, permit, field, intent, (clicked, tabbed))
        self._tell(gesture, receipt.typed)
        if intent is not None:
            await intent.done()
        await self._note(events.ActionDone(took_us=receipt.took_ns // 1000, input_events=receipt.events))
        self._done = gesture
        self.presses.record(gesture, seen.redacted, self.doors.now_s())
        self._focus = focus_after(gesture, clicked), tabbed_after(gesture, clicked, tabbed), seen.frame.holds
        if receipt.left_out:
            await self._record(events.Corrected(reason=receipt.left_out))
        return receipt.left_out

    async def _permitted(self, seen: Seen, call: AnyCall, gesture: Gesture) -> Permit:
        """Return the leave for an action that is within the limits, and keep where something is expected of it."""
        self.guard.check_action()
        permit = await self._permit(seen, call, gesture)
        where = aim(gesture)
        keyed = where is not None and not where.points
        self._expected = expected(gesture, (await self.doors.desktop.owner_at(None)).box if keyed else None)
        return permit

    async def _intend(self, call: AnyCall, seen: Seen) -> Intent | None:
        """Count an action, and write it down where there is a journal: before it is done."""
        if self.doors.purse is not None:
            await self.doors.purse.count_action(self.guard)
        self.guard.check_action()  # others may have acted since it was permitted: from here to the count nobody can
        self.guard.count_action()
        journal = self.doors.journal
        return Intent(journal, await journal.intend(label(call), seen.shot.sha256)) if journal else None

    async def _send(
        self,
        seen: Seen,
        gesture: Gesture,
        permit: Permit | None,
        field: Box | None,
        intent: Intent | None,
        keyed: tuple[Point | None, Point | None],
    ) -> Receipt:
        """Have the hands do a gesture. Where they do not, write down what is known of what they sent."""
        doors, guard, started = self.doors, self.guard, self.doors.now_s()
        try:
            codes = await self._set_aside(gesture, intent)
            until_s, frame = doors.now_s() + seconds_for(gesture, field), seen.frame.number if doors.recheck else 0
            shown = seen.shot.region or Box(0, 0, 0, 0)
            held = tuple(box.moved(shown.left, shown.top) for box in self.held)
            slip = permit.slip(gesture, until_s, frame, field, codes, held) if permit else None
            return await doors.desktop.do(gesture, deadline=guard.deadline_s, slip=slip)
        except (InvalidUsage, SecretRefused, ScreenChanged) as error:
            self._tell(gesture, error.typed)
            if not error.typed:  # gestures are checked as a whole before they begin: nothing was sent
                self._focus = *keyed, seen.frame.holds
            if intent is not None:
                await (intent.done() if error.typed else intent.void())
            changed = isinstance(error, ScreenChanged)
            await self._record((events.LookedAgain if changed else events.ActionFailed)(reason=str(error)))
            raise
        except BaseException as error:
            # Also when cancelled: a flow may catch the limit that did it, and look at the same screen again.
            self._tell(gesture, typed_until(error, gesture, seen.frame))
            if not isinstance(error, HoloError):
                raise
            late = guard.late() if isinstance(error, LimitReached) else None  # hands know a time, not whose it is
            await self._record(events.ActionFailed(reason=str(late or error)))
            raise late or error from None
        finally:
            self._spans["act"] = _micros(doors.now_s() - started)

    async def _set_aside(self, gesture: Gesture, intent: Intent | None) -> tuple[tuple[str, int], ...]:
        """Have the one-time codes of a gesture set aside; nothing of it was sent where that cannot be."""
        if self.doors.one_time is None or not isinstance(gesture, Write) or CODE_BEGINS not in gesture.text:
            return ()
        try:
            return await self.doors.one_time.take(names_in(gesture.text))
        except SecretRefused:
            raise
        except BaseException as error:
            error.typed = ()  # type: ignore[attr-defined]  # nothing shows
            if intent is not None:
                await intent.void()
            raise

    async def _check_written(self, write: Write, frame: Frame) -> Box | None:
        """Return the field that a secret in a text is bound to, if it is.

        Raises if a text names a secret that is not to be typed, or not like this; nothing is typed then.
        """
        field = None
        try:
            check_written(write.text, self.secrets)
            moved = not set(write.text.partition("{{")[0]).isdisjoint("\t\r\n")
            for name in names_in(write.text):
                labels = self.doors.secret_fields.get(name, ())
                field = await check_field(name, labels, write.at, self.scene(frame), moved=moved)
        except (InvalidUsage, SecretRefused) as error:
            await self._record(events.Corrected(reason=str(error)))
            raise
        return field

    def _tell(self, gesture: Gesture, typed: Sequence[Typed]) -> None:
        """Tell where secrets show; also that one was typed and shows nowhere yet."""
        if typed or secrets_in(gesture):
            self.doors.codes.keep()
            self.doors.typed(typed)

    def _keyed(self, frame: Frame) -> tuple[Point | None, Point | None]:
        """Return where the clicks were that the keyboard has followed or left by Tab, if only the agent had the screen
        since.
        """
        clicked, tabbed, holds = self._focus
        return (clicked, tabbed) if holds == frame.holds else (None, None)

    def scene(self, frame: Frame) -> Scene:
        """Return the screen that is acted on, with what may be asked about it."""
        doors, (clicked, tabbed) = self.doors, self._keyed(frame)
        tree = doors.elements.once() if doors.elements else None
        return Scene(frame, doors.desktop.owner_at, doors.reader, doors.desktop.look, clicked, tabbed, tree)

    async def _permit(self, seen: Seen, call: AnyCall, gesture: Gesture) -> Permit:
        """Return the policy's leave for an action, with a person's yes if it takes one; raise if there is none."""
        doors = self.doors
        permit = await doors.policy.permit(call, gesture, self.scene(seen.frame))
        await self._note(events.Permitted(allowed=permit.allowed, rule=permit.rule))
        if permit.asks and doors.approver is not None:
            digest = action_digest(call, gesture, permit.owner)
            called = doors.elements.namer(seen.masks) if doors.elements else None
            words, points = await words_for(permit.rule, gesture, seen.redacted, doors.reader, called)
            asked = Asked(self.token, digest, seen.redacted.digest, words, seen.shot.sha256, points)
            try:
                by = await consent(doors.approver, asked, self.look_redacted)
            except NeedsPerson as error:
                if not error.handoff:  # else it was recorded as it began
                    await self._record(events.HandedOver(question=str(error)))
                raise
            self.guard.check_time(doors.now_s())
            permit = replace(permit, allowed=True, rule=f"{by} said yes", asks=False)
            await self._record(events.Permitted(allowed=True, rule=permit.rule))
        if not permit.allowed:
            raise PolicyRefused(permit.rule)
        return permit

    # verify → record

    async def verify(self, before: Seen, call: AnyCall, *, started_s: float, repeat: bool = True) -> str:
        """Take a fresh settled frame, judge what the action did, and say so in a sentence.

        ``started_s`` is when the step began, before it was decided. Without ``repeat``, the action is not done once
        more, whatever is declared safe.
        """
        if isinstance(call, WaitCall) and self.waits_on:
            await self._wait_on(before, call.seconds)
        verdict = await self._judged(before)
        after, labels = self._seen(), self.safe_to_repeat
        sentence = verdict.sentence + await self.typed.sentence(self.doors, before, after, self._done, self._note)
        # Of what is done on another machine it may come later still that it did something.
        near = not getattr(self.doors.desktop, "far", "")
        if verdict.outcome == "unchanged" and labels and repeat and near:
            done, reader = self._done, self.doors.reader
            if await may_repeat(done, before.frame, after.frame, labels, reader) and isinstance(done, Click):
                sentence = await self._repeated(after, call, done)
        await self._timed(started_s)
        return told_of(sentence, before, self._seen())

    async def _judged(self, before: Seen) -> Verdict:
        """Take a fresh settled frame and judge by it what the last action did."""
        after = await self.look(after_action=True)
        # What changed under a mask is not told: it would be known from where, and how often.
        verdict = judge(before.redacted, after.redacted, self._expected)
        state, right = await self.whereabouts() if self.whereabouts else ("", True)
        if not right and verdict.outcome in ("changed", "elsewhere"):
            verdict = replace(verdict, outcome="wrong_state")
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

    async def _repeated(self, before: Seen, call: AnyCall, done: Click) -> str:
        """Do a click that changed nothing once more, a little beside, through all doors again; say what came of it."""
        click, dx, dy = beside(done, before.frame.size)
        await self._record(events.Repeated(reason="it changed nothing, and is safe to repeat", dx=dx, dy=dy))
        try:
            await self._carry_out(call, click)
        except ScreenChanged as error:
            await self.look()
            return f"The screen did not change at once. {error}"
        return f"The screen did not change, so the click was repeated once. {(await self._judged(before)).sentence}"

    async def look_after_change(self, step: Step, told: str, *, started_s: float) -> None:
        """Take a fresh frame after an action that was not done, because the screen was not what it was decided on."""
        await self.look()
        await self._timed(started_s)
        self.remember(step, told, is_error=True, unsent=True)

    async def _timed(self, started_s: float) -> None:
        await self._note(
            events.StepTimed(
                perceive_us=self._spans.get("perceive", 0),
                decide_us=self._spans.get("decide", 0),
                act_us=self._spans.get("act", 0),
                waiting_us=self._spans.get("wait", 0),
                total_us=_micros(self.doors.now_s() - started_s),
            )
        )

    async def look_redacted(self) -> Frame:
        """Take the screen as it is by now, as far as it may be known outside this machine."""
        return (await self.doors.redactor.redact(await self.doors.desktop.look())).frame

    async def _wait_on(self, before: Seen, asked_s: float) -> None:
        """Go on waiting while the screen stays the very same: to ask about it again would only cost money.

        At most four times as long again as the model asked for, and `PATIENCE_S`.
        """
        doors = self.doors
        end = doors.now_s() + min(PATIENCE_S, 4 * asked_s)
        while doors.now_s() < end:
            now = await doors.desktop.look()
            if (
                now.rgb != before.frame.rgb
                and (await doors.redactor.redact(now)).frame.digest != before.redacted.digest
            ):
                return
            await self.pause(min(STILL_S, asked_s))

    async def pause(self, seconds: float) -> None:
        """Let the program work for a while, but not past a deadline."""
        self.guard.check_time(self.doors.now_s())
        try:
            await self.doors.desktop.do(Pause(seconds), deadline=self.guard.deadline_s)
        except LimitReached as error:
            raise self.guard.late() or error from None

    async def take_stock(self, *, pictures: bool) -> str:
        """Tell the model that it is going round in circles; with ``pictures``, show it its last actions too, if it is
        shown more than one picture at a time.

        Returns the digest of that picture, if there is one.
        """
        *before, told, seen = self.transcript.entries
        assert isinstance(told, Told)
        assert isinstance(seen, Observed)
        if pictures and self.doors.model.image_budget > 1:
            turns = self.transcript.turns[-STRIP_TURNS:]
            strip = await asyncio.to_thread(self.doors.encoder.strip, turns)
            await self.doors.recorder.keep(strip)
            seen = replace(seen, strip=Strip(strip, len(turns)))
        told = replace(told, text=f"{told.text}\n{TAKE_STOCK}")
        self.transcript = replace(self.transcript, entries=(*before, told, seen))
        return seen.strip.shot.sha256 if seen.strip else ""

    def remember(self, step: Step, told: str, *, is_error: bool = False, unsent: bool = False) -> None:
        """Write the step and what came of it into the history, with the newest screen after it."""
        if step.call_id and step.call_id in self.transcript.call_ids:
            # Some servers count their calls from zero again in each reply.
            step = step.model_copy(update={"call_id": f"{step.call_id}_{self.step}"})
        call = step.tool_call
        tool = call.name if isinstance(call, MacroCall) else call.tool_name
        came = Told(tool, told, is_error, unsent)
        self.transcript = self.transcript.then(Did(step), came, Observed(self._seen().shot))

    def aside(self, macro: str) -> Walk:
        """Return a walk through the same doors for a sequence that the model has called: with a history of its own.

        It names its secrets itself, and nobody is asked for help from within it: the model goes on.
        """
        return replace(
            self,
            doors=replace(self.doors, person=None, correction=None),
            transcript=Transcript(macro),
            secrets=None,
            macro=macro,
            whereabouts=None,
            seen=None,
            _corrections=None,
            _attempt=0,
            _asked=False,
            _spans={},
        )

    def back_from(self, aside: Walk) -> None:
        """Go on where a walk aside has left the program."""
        self.step, self._focus = aside.step, aside._focus
        self.seen = aside.seen or self.seen

    def begin(self) -> None:
        """Show the model its first screen."""
        self.transcript = self.transcript.then(Observed(self._seen().shot))

    async def record(self, event: events.Event) -> None:
        """Record an event of this sub-goal."""
        await self._record(event)

    async def _record(self, event: events.Event) -> None:
        """Write an event down; durable on return, with all that was noted before."""
        await self._note(event)
        await self._notes.written()

    async def _note(self, event: events.Event) -> None:
        """Have an event written down in its turn, and go on: what it is relied on for waits until it is."""
        stamped = event.model_copy(update={"subgoal": self.number, "step": self.step})
        await self._notes.begin(self.doors.recorder.record(stamped))

    def _seen(self) -> Seen:
        if self.seen is None:
            raise InvalidUsage("Look at the screen before deciding or acting.")
        return self.seen


def _micros(seconds: float) -> int:
    return round(seconds * 1_000_000)
