"""Decide the steps of a playbook's goal: by its rules, the earlier steps and the screen.

`PlaybookBrain` is the brain of a playbook. It collects the outcome of each step for healing.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.elements.element_anchors import PRESSED
from holo_tasks.core.elements.elements import CELLS, ROWS
from holo_tasks.core.errors import GaveUp, NeedsPerson
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import AnswerCall
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.rest import Rest
from holo_tasks.loop.arrange_windows import fit_window, put_foreign_behind
from holo_tasks.loop.left_fields import Filled
from holo_tasks.loop.script_port import Intent
from holo_tasks.loop.walk import Walk
from holo_tasks.scripts.conditions import is_visible
from holo_tasks.scripts.earlier_steps import EarlierSteps
from holo_tasks.scripts.element_search import FIELDS, NotFound, keyboard_elsewhere
from holo_tasks.scripts.failure_notes import FailureNotes
from holo_tasks.scripts.into_view import IntoView
from holo_tasks.scripts.item_boxes import item_boxes
from holo_tasks.scripts.late_texts import NOT_TYPED, LateTexts
from holo_tasks.scripts.misfit import Misfit, asks_model, misfit_of
from holo_tasks.scripts.params import Given
from holo_tasks.scripts.passing_messages import PassingMessages
from holo_tasks.scripts.playbook import ListStep, Playbook, Rule
from holo_tasks.scripts.resuming import Resumed, Resuming, Taken
from holo_tasks.scripts.rules import Decision, find, follow
from holo_tasks.scripts.script_view import (
    PLAYBOOK,
    OutcomeReader,
    ScreenNeeds,
    ScreenReader,
    exactly,
    needs_of,
)
from holo_tasks.scripts.searched_rows import SearchedRows
from holo_tasks.scripts.step_outcome import StepOutcome
from holo_tasks.scripts.steps_and_targets import Action, sets_state
from holo_tasks.scripts.unseen_end import UnseenEnd
from holo_tasks.scripts.values import Value, fill, filled_in, read_values
from holo_tasks.vision.screen_text import Sight

KEYED = FIELDS | PRESSED | ROWS | CELLS | {"tab"}
"""Roles of elements that take typed keys."""
KEYS = ("write", "hotkey", "hold_and_tap_key")
"""Kinds of actions whose keys go to the window that has the keyboard."""
UNDECIDED = ("wait", "ask_human", "ask_model")
"""Kinds of actions that do nothing to the program. Before such an action is chosen, the whole screen is read."""
MOST_UNSENT = 3
"""How often in a row a step may wait because the screen changed right before it. After that it counts as failed."""
DONE = "done"
"""Answer of a probe that found the effect."""


class DoesNotFit(GaveUp):
    """A playbook does not fit the screen. It may continue after another layer did one step in its place."""

    def __init__(self, message: str, misfit: Misfit) -> None:
        super().__init__(message, layer=PLAYBOOK)
        self.misfit = misfit


class PlaybookBrain:
    """Follows a goal's rules over the earlier steps and the screen.

    ``late_s`` is how long to wait on an unknown screen if another layer can do a step. Without it the rules decide. In
    both cases the wait goes on while the program works. ``outcomes`` are those of the earlier steps, in order.
    """

    def __init__(self, playbook: Playbook, goal: str, values: Mapping[str, Given], eyes: ScreenReader) -> None:
        self.intent = Intent()
        self.outcomes: list[StepOutcome] = []
        self.late_s: float | None = None
        self.playbook, self.goal, self.values = playbook, goal, values
        self.rules = playbook.rules_of(goal)
        self.given: Decision | None = None
        """The last decision."""
        self._reader, self._outcomes = eyes, OutcomeReader()
        self._needs = needs_of(self.rules)
        self._apart = {fill(one.thought, values) for rule in self.rules if rule.anytime for one in rule.do}
        """Thoughts of the steps that remove interruptions."""
        self._past: list[Turn] = []
        self._met = -1
        self._rest: Rest | None = None
        """The wait on an unknown screen; ``None`` on a known one."""
        self._before = ""
        """Digest of the frame that the last action was decided on."""
        self._checked: str | None = None
        """Digest of the last frame that was seen to have no new item."""
        self._acted_s: float | None = None
        """Time of the last action; ``None`` if it must not be judged as having had no effect."""
        self._focused_again: set[str] = set()
        """The steps before which the click into their field was repeated."""
        self._old: Mapping[str, Value] = {}
        """Values that were readable before the last action, for reads that need a new value."""
        self._failures, self._late_texts, self._searched = FailureNotes(values), LateTexts(), SearchedRows(values)
        self._messages, self._end = PassingMessages(self.rules, values), UnseenEnd()
        self._filled: list[tuple[Filled, Rule]] = []
        """The fields that were filled in, each with the rule of its step."""
        self._known: Sequence[Filled] = ()
        """The fields that were filled in before the last step, also by a model."""
        self._undone: Counter[str] = Counter()
        """How often steps of a rule were done without effect, by rule."""
        self._unsent = 0
        self._stopped: Misfit | None = None
        self._put_behind = self._fitted = 0
        """How often windows of other programs were put behind the program, and windows were brought into the screen."""
        self._view = IntoView(self.rules, values, [fill(label, values) for label in playbook.goals[goal].press_once])
        self._moves = False
        """Whether the last step only changed the view, or waited for a text."""
        self._probe: PlaybookBrain | None = None
        self._answer: tuple[Step, Decision] | None = None
        """The answer that is given as soon as the probe has found the effect."""

    async def decide(self, walk: Walk) -> Step:
        """Return the next step. Raises `GaveUp` without one, or `DoesNotFit` if a known one does not fit."""
        if self._answer is not None and self._probe is not None:
            return await self._probed(walk, self._probe, self._answer)
        self._hear(walk)
        if (wait := self._late_texts.wait(self._past)) is not None:
            return self._apart_from_rules(wait, walk)
        sight, decision = await self._decided_in_view(walk)
        rule = self._rule_of(decision)
        if not decision.unmet and not (rule is not None and rule.anytime):
            self._met = self._steps(self._past)
        step = Step.model_validate(decision.step)
        gives_up = self._gives_up(decision, walk)
        await self._check_absent(decision, walk)
        if (moved := await self._moved(walk, decision, sight, gives_up)) is not None:
            return moved
        if gives_up:
            raise await self._stop(step, decision, sight)
        if (misfit := self._did_nothing(decision, walk)) is not None:
            raise DoesNotFit(misfit.sentence, misfit)
        if decision.action is not None:
            if sight.elements is not None:
                self._check_left_fields(walk.typed.left.changed(sight.elements))
            # Before an answer, a list may lose a row that was moved away.
            if decision.action.answer is None and (lost := await asyncio.to_thread(self._searched.moved, sight)):
                raise self._wrong_effect(lost, "the list has moved, so the search may have ended at another row")
        self._check_failures(decision, sight)
        last = self._earlier.last_in_line
        if (wait := self._end.wait(rule, None if last is None else last[0], self._past)) is not None:
            return self._apart_from_rules(wait, walk)
        if (probe := self.playbook.goals[self.goal].probe) is not None and isinstance(step.tool_call, AnswerCall):
            names = self.playbook.goals[probe]
            values = {name: value for name, value in self.values.items() if name in {*names.params, *names.values}}
            self._probe = PlaybookBrain(self.playbook, probe, {**names.values, **values}, self._reader)
            self._answer = step, decision
            return await self._probed(walk, self._probe, self._answer)
        # The wait on an unknown screen has a fixed length. The effect of a step may take longer.
        walk.extends_waits = not decision.lost or bool(decision.rule)
        self.given, action = decision, decision.action
        if action is not None and not (rule is not None and rule.anytime):
            self._view.forget()
        if action is not None and action.wait is None:
            self._before, self._acted_s = _picture(walk), None
            self._old = await asyncio.to_thread(self._read_before, decision, sight)
            await asyncio.to_thread(self._searched.aim, rule, sight)
            await asyncio.to_thread(self._messages.aim, rule, sight)
        self._late_texts.aim(self._reader.with_texts(sight, walk), self._past)
        held = await asyncio.to_thread(self._held, decision, sight)
        self.intent = Intent() if action is None else self._intended(action, held)
        self._outcomes.remember(step, walk)
        self._known = [*walk.typed.left.filled]
        return step

    async def _decided_in_view(self, walk: Walk) -> tuple[Sight, Decision]:
        """Return the sight and the decision of the rules, after windows were arranged if that may help."""
        sight, decision = await self._decided(walk)
        if await self._put_foreign_behind(walk, decision):
            sight, decision = await self._decided(walk)
        if decision.action is None and self._gives_up(decision, walk) and await fit_window(walk, self._fitted + 1):
            self._fitted += 1
            self._wait_anew()
            sight, decision = await self._decided(walk)
        return sight, decision

    def _wait_anew(self) -> None:
        """Forget the waits at the end, because the program draws its window anew."""
        self._past, self._rest = self._past[: len(self._past) - self._earlier.waits], None

    def _gives_up(self, decision: Decision, walk: Walk) -> bool:
        return decision.step["tool_call"]["tool_name"] == "ask_human" or self._is_late(decision, walk)

    async def _put_foreign_behind(self, walk: Walk, decision: Decision) -> bool:
        """Put a window of another program behind if it would take typed keys, or may hide the target.

        A step that removes an interruption comes first. A press raises the window of its target by itself.
        """
        action, rule = decision.action, self._rule_of(decision)
        hidden = decision.lost or decision.unmet
        typed = action is not None and not action.targets and action.kind in KEYS
        if (rule is not None and rule.anytime) or not (hidden or typed):
            return False
        done = await put_foreign_behind(walk, self._put_behind + 1, covering=hidden)
        self._put_behind += done
        return done

    async def _moved(self, walk: Walk, decision: Decision, sight: Sight, gives_up: bool) -> Step | None:
        """Return a step that brings the targets or texts of the next step into view, or ``None``.

        A screen that may still be in motion is looked at once more before.
        """
        if decision.action is not None or not (gives_up or (decision.lost and self._earlier.waits)):
            return None
        misfit = await asyncio.to_thread(self._misfit, sight)
        if misfit is None:
            return None
        move = await asyncio.to_thread(self._view.move, misfit, sight, gives_up, _picture(walk))
        return None if move is None else self._apart_from_rules(move, walk)

    def _apart_from_rules(self, move: Mapping[str, object], walk: Walk) -> Step:
        """Return a step that is not kept among the earlier steps."""
        self.intent, self._moves = Intent(), True
        step = Step.model_validate(move)
        self._outcomes.remember(step, walk)
        return step

    def _intended(self, action: Action, held: tuple[Box, ...]) -> Intent:
        shows = action.write.shows if action.write is not None else None
        return Intent(action.safe, action.expect or "", held, fill(shows, self.values) if shows else "")

    def _held(self, decision: Decision, sight: Sight) -> tuple[Box, ...]:
        """Return the places where the screen names the business item of the step."""
        rule, action = self._rule_of(decision), decision.action
        return () if rule is None or action is None else item_boxes(rule, action, self.values, sight)

    def _read_before(self, decision: Decision, sight: Sight) -> Mapping[str, Value]:
        """Return the values that the next rules need new, as far as the screen shows them before the action."""
        following = [rule for rule in self.rules if decision.rule in (*rule.after, *rule.done)]
        wanted = {name: each for rule in following for name, each in rule.read.items() if each.new}
        found: dict[str, Value] = {}
        for name, each in wanted.items():
            with suppress(NotFound):
                found |= read_values({name: each}, sight.shown or sight, self.values) or {}
        return found

    async def _decided(self, walk: Walk) -> tuple[Sight, Decision]:
        """Return the sight and the decision of the rules.

        The accessibility tree alone is enough for an action. Before the playbook waits or stops, and before it types a
        text again, the whole screen is read.
        """
        is_missing = self._late_texts.is_missing(self._past)
        if ScreenNeeds.TEXT | ScreenNeeds.ELEMENTS in self._needs and not is_missing:
            sight = await self._reader.sight(walk, self._needs, reported=True)
            decision = await asyncio.to_thread(self._without_needless_clicks, sight)
            if not (decision.lost or decision.unmet) and decision.action and decision.action.kind not in UNDECIDED:
                return sight, decision
        sight = await self.look(walk, ScreenNeeds.TEXT if is_missing else None)
        return sight, await asyncio.to_thread(self._without_needless_clicks, sight)  # it may run OCR on an element

    def _has_keyboard_elsewhere(self, decision: Decision, sight: Sight) -> bool:
        """Return whether a step of a list would type into another field than the one that the step before clicked."""
        action, before = decision.action, self._clicked_before(decision)
        focused = None if sight.elements is None else sight.elements.focused()
        if not isinstance(action, ListStep) or action.write is None or before is None or focused is None:
            return False
        target = before.click
        takes_keys = focused.role in KEYED and focused.on_screen
        if target is None or target.role not in FIELDS or not takes_keys:
            return False
        try:
            field = find(target, self.values, sight)
        except NotFound:
            if target.holds is None:
                return False
            field = self._clicked_place(sight)  # the hint in the field goes away after the click
        return not (field.contains(focused.box.center) or focused.box.contains(field.center))

    def _clicked_place(self, sight: Sight) -> Box:
        """Return the pixel of the last click."""
        call = next(turn.call for turn in reversed(self._past) if turn.tool != "wait")
        return Box(int(call["x"] * sight.size.width / 1000), int(call["y"] * sight.size.height / 1000), 1, 1)

    def _clicked_before(self, decision: Decision) -> Action | None:
        """Return the action of the previous step in the list, if it was the last action apart from interruptions."""
        rule, last = self._rule_of(decision), self._earlier.last_in_line
        return last[0].do[0] if rule is not None and last is not None and last[0].id in rule.done else None

    def _was_interrupted(self, decision: Decision) -> bool:
        """Return whether something was removed between a click into a field and the typing, which took the keyboard."""
        action, before = decision.action, self._clicked_before(decision)
        target = None if before is None else before.click
        if not isinstance(action, ListStep) or action.write is None or target is None:
            return False
        is_field = target.field is not None or target.role in FIELDS
        return is_field and self._earlier.was_interrupted

    def _focus_again(self, decision: Decision) -> None:
        """Let the click into a field be repeated once, because the keyboard is still in another field."""
        if decision.rule in self._focused_again:
            raise GaveUp(f"The keyboard is in another field than the one for {decision.rule}.", layer=PLAYBOOK)
        self._focused_again.add(decision.rule)
        self._forget_click(decision)

    def _forget_click(self, decision: Decision) -> None:
        """Remove the click into a field from the steps that were done. Interruptions after it stay."""
        before = self._clicked_before(decision)
        assert before is not None
        said = fill(before.thought, self.values)
        place = max(number for number, turn in enumerate(self._past) if turn.thought == said)
        self._past = [*self._past[:place], *(turn for turn in self._past[place + 1 :] if turn.tool != "wait")]

    def _without_needless_clicks(self, sight: Sight) -> Decision:
        """Return the decision on a screen. A click on a control that is checked as wanted counts as done already."""
        self._past = self._late_texts.without_failure(self._past, sight)
        while True:
            decision = self._follow(sight)(self._past)
            action = decision.action
            if self._has_keyboard_elsewhere(decision, sight):
                self._focus_again(decision)
                continue
            if self._was_interrupted(decision):
                self._forget_click(decision)
                continue
            states = [] if action is None or action.click is None else [one for one in action.then if sets_state(one)]
            if not states or not all(is_visible(one, self.values, sight) for one in states):
                return decision
            call = dict(decision.step["tool_call"])
            self._past.append(Turn("click", decision.step["thought"], call, "It is so already."))
            self._met = self._steps(self._past)

    async def _probed(self, walk: Walk, probe: PlaybookBrain, answer: tuple[Step, Decision]) -> Step:
        """Return the next step of the probe, or the answer if the probe has found the effect.

        Raises `NeedsPerson` if the effect was not found. The program claimed it, so repeating the work would be unsafe.
        """
        try:
            step = await probe.decide(walk)
        except GaveUp as error:
            raise NeedsPerson(
                f"The program says that it is done ({self.goal}), and the check of the effect failed: {error}"
            ) from None
        self.intent = probe.intent
        if not isinstance(step.tool_call, AnswerCall):
            return step
        if step.tool_call.content != DONE:
            said = f"The program says that it is done ({self.goal}), but its check {probe.goal} did not find the effect"
            raise NeedsPerson(f"{said}: {step.tool_call.content}")
        self.intent, self._probe = Intent(), None
        found, self.given = answer
        self._outcomes.remember(found, walk)
        return found

    async def look(self, walk: Walk, also: ScreenNeeds | None = None) -> Sight:
        """Return the contents of the newest screen, as far as the rules need them. ``also`` are further contents."""
        return await self._reader.sight(walk, self._needs if also is None else self._needs | also)

    async def resume(
        self, walk: Walk, misfit: Misfit, taken: Taken | None, *, said_done: bool = False
    ) -> Resumed | None:
        """Continue if the playbook fits again after another layer did a step; return ``None`` while it does not fit."""
        sight = await self.look(walk)
        asked = Resuming(self.rules, self.values, misfit, self._follow(sight), sight, taken, said_done)
        found = await asyncio.to_thread(asked.resumed, self._past)
        if found is not None:
            self._past, self._stopped, self._rest, self._acted_s = list(found.history), None, None, None
        return found

    def keyboard_elsewhere(self, action: Action, sight: Sight) -> str:
        """Return a sentence if a text would arrive in another element than the one that an action types into."""
        if action.focus is None:
            return ""
        return keyboard_elsewhere(action.focus.model_copy(update=filled_in(action.focus, self.values)), sight)

    def pressed(self, misfit: Misfit) -> tuple[str, ...]:
        """Return the labels of pressed controls that may be pressed once only.

        Labels that the misfit's own step presses are left out.
        """
        done = [rule.do[place] for rule, place in self._earlier.done if rule.limit == 1]
        own = () if misfit.cause == "effect" else self.written_on(misfit.action)
        again = [*done, misfit.action] if misfit.cause == "effect" else done
        labels = (label for action in again for label in self.written_on(action))
        return tuple(dict.fromkeys(label for label in labels if label not in own))

    def written_on(self, action: Action) -> list[str]:
        """Return the texts and names of an action's targets."""
        ways = (way for target in action.targets for way in target.ways if way.field is None)
        return [fill(label, self.values) for way in ways for label in (way.text, way.name) if label]

    def done_by_other(self, outcome: StepOutcome) -> None:
        """Store the outcome of a step that another layer did."""
        self._stopped = None
        self.outcomes.append(outcome)

    async def close(self) -> None:
        """Store the outcome of the last step. The brain has no resources to release."""
        stopped, given, self._stopped, self.given = self._stopped, self.given, None, None
        if stopped is not None:
            said = stopped.action.thought
            self.outcomes.append(StepOutcome(stopped.rule.id, stopped.place, said, "failed", why=stopped.why))
        elif given is not None and given.action is not None and given.action.answer is not None:
            self._note_fitted(given)

    def _rule_of(self, decision: Decision) -> Rule | None:
        return next((rule for rule in self.rules if rule.id == decision.rule), None)

    def _steps(self, history: Sequence[Turn]) -> int:
        """Return the number of steps, without those that removed an interruption."""
        return sum(turn.tool != "wait" and turn.thought not in self._apart for turn in history)

    def _follow(self, sight: Sight) -> Callable[[Sequence[Turn]], Decision]:
        """Return a function that returns the decision on a screen for given steps."""

        def follows(history: Sequence[Turn]) -> Decision:
            return follow(
                self.playbook,
                self.goal,
                self.values,
                history,
                sight,
                written=exactly,
                met=self._met == self._steps(history),
                old=self._old,
                seen=self._messages.seen_on(sight, self._view.seen_on(sight)),
                before=self._messages.before,
            )

        return follows

    def _misfit(self, sight: Sight) -> Misfit | None:
        return misfit_of(self.rules, self.values, self._past, sight, met=self._met == self._steps(self._past))

    def _hear(self, walk: Walk) -> None:
        outcome, given = self._outcomes.last_outcome(walk), self.given
        moved, self.given, self._moves = self._moves, None, False
        if outcome is None:
            return
        step, result = outcome
        if moved:
            if result.is_error:
                self._view.not_moved()
            return
        if step.tool_call.tool_name == "answer":
            raise GaveUp(f"The playbook's answer was not accepted: {result.text}", layer=PLAYBOOK)
        self._unsent = self._unsent + 1 if result.unsent else 0
        if 0 < self._unsent <= MOST_UNSENT:
            return
        if given is not None and given.action is None and walk.seen is not None and walk.seen.frame.activity.works:
            return  # the rules limit the number of waits on a program that does not work
        call = step.tool_call.model_dump(mode="json")
        is_missing = given is not None and self._is_missing(given, walk, str(call.get("content", "")))
        said = f"{result.text} {NOT_TYPED}" if is_missing else result.text
        self._past.append(Turn(step.tool_call.tool_name, step.thought, call, said, result.is_error or is_missing))
        if given is not None and not result.is_error and not is_missing:
            self._check_field(given, walk)
            left, rule = walk.typed.left, self._rule_of(given)
            if rule is not None:
                self._filled += [(one, rule) for one in left.filled if all(one is not each for each in self._known)]
            self._check_left_fields([filled for filled, _ in left.found])
            self._note_fitted(given)
            if step.tool_call.tool_name != "wait":
                self._acted_s = walk.services.now_s()

    def _is_missing(self, given: Decision, walk: Walk, typed: str) -> bool:
        """Return whether a step of a list typed a text that left no trace: no pixel changed, and no field has it.

        A single character that no field was read for may be a command, which need not show anything. It counts as done.
        """
        read = walk.typed.result
        if not isinstance(given.action, ListStep) or given.action.write is None or _picture(walk) != self._before:
            return False
        if read is None or read.kind == "unread":
            return len(typed.strip()) > 1
        return read.kind in ("lost", "empty")

    def _check_field(self, given: Decision, walk: Walk) -> None:
        """Raise `GaveUp` if the step typed a text and its field holds another text than the playbook expects.

        This is not a misfit for the model, because the playbook would continue whatever the model does.
        """
        read, action, rule = walk.typed.result, given.action, self._rule_of(given)
        if read is None or action is None or action.write is None or rule is None or not read.problem:
            return
        raise self._wrong_effect(rule, "the field does not hold the typed text", read.problem)

    async def _check_absent(self, decision: Decision, walk: Walk) -> None:
        """Raise `GaveUp` before the first step if the screen has the new item already.

        A model that did the first step would enter it twice, so this is not a misfit. It is checked on each new screen
        until a step is done, because the model may do the first one. The whole screen is read, because a program may
        not report the contents of its sheet.
        """
        absent, picture = self.playbook.goals[self.goal].absent, _picture(walk)
        answers = decision.action is not None and decision.action.answer is not None
        if not absent or answers or self._earlier.has_begun or picture == self._checked:
            return
        sight = await self.look(walk, ScreenNeeds.TEXT)
        for text in absent:
            if is_visible(f"*{text}*", self.values, sight):
                said = f"‘{fill(text, self.values)}’ is on the screen already, and the steps would enter it again."
                raise GaveUp(f"{said} Look whether this item was done before.", layer=PLAYBOOK)
        self._checked = picture

    def _check_left_fields(self, changed: Sequence[Filled]) -> None:
        """Raise `GaveUp` if a field that the playbook filled in has another value since then."""
        for rule in (rule for filled, rule in self._filled if any(filled is each for each in changed)):
            raise self._wrong_effect(rule, "the program has changed the value of its field since")

    def _wrong_effect(self, rule: Rule, why: str, more: str = "") -> GaveUp:
        """Return the error that ends the playbook because a text that a rule typed had another effect."""
        place = next(number for number, each in enumerate(rule.do) if each.write is not None)
        self._stopped = Misfit(rule, place, "effect", why, done=self._earlier.thoughts)
        return GaveUp(f"{self._stopped.sentence} {more}".strip(), layer=PLAYBOOK)

    def _check_failures(self, decision: Decision, sight: Sight) -> None:
        """Raise `DoesNotFit` if a step of a list is to answer, and a new text of the program says that it failed.

        The texts on the first screen are kept for this.
        """
        action, rule = decision.action, self._rule_of(decision)
        allowed = action.allow_errors if isinstance(action, ListStep) and action.answer is not None else True
        if allowed is True and self._past:
            return
        said = self._failures.new(sight, () if isinstance(allowed, bool) else allowed)
        if not said or rule is None:
            return
        done = self._earlier.thoughts
        self._stopped = Misfit(rule, len(rule.do) - 1, "screen", f"the program now says ‘{said}’", done=done)
        raise DoesNotFit(self._stopped.sentence, self._stopped)

    @property
    def _earlier(self) -> EarlierSteps:
        return EarlierSteps(self.rules, self.values, self._past)

    def _note_fitted(self, given: Decision) -> None:
        rule = self._rule_of(given)
        if rule is not None and given.action is not None and given.action.wait is None:
            place = next(number for number, action in enumerate(rule.do) if action is given.action)
            self.outcomes.append(StepOutcome(rule.id, place, given.action.thought, "fitted"))

    def _is_late(self, decision: Decision, walk: Walk) -> bool:
        """Return whether the wait on an unknown screen has lasted long enough."""
        if not decision.lost:
            self._rest = None
            return False
        now_s = walk.services.now_s()
        if self._rest is None:
            self._rest = Rest(math.inf if self.late_s is None else self.late_s, now_s)
        if walk.seen is not None:
            self._rest.look_at(walk.seen.frame, now_s)
        return self.late_s is not None and self._rest.is_over(now_s)

    def _did_nothing(self, decision: Decision, walk: Walk) -> Misfit | None:
        """Return a misfit if the last action may be repeated and changed no pixel for the whole wait, or ``None``.

        Something blocks the action. It counts as not done, and as one of its allowed repetitions.
        """
        rule = self._rule_of(decision)
        waits = decision.action is None and not decision.lost and not decision.unmet
        if self.late_s is None or self._acted_s is None or rule is None or not waits or len(rule.do) > 1:
            return None
        past, late_s = self._earlier, max(self.late_s, rule.patience * rule.pause)
        still = self._before == _picture(walk) and walk.services.now_s() - self._acted_s >= late_s
        last = past.times(rule.id, rule.since) + self._undone[rule.id] >= rule.limit
        if not (still and past.waits) or last or any(other.waited for other in self.rules):
            return None
        self._undone[rule.id] += 1
        self._acted_s = None
        self._past = self._past[: -past.waits - 1]
        if self.outcomes and (self.outcomes[-1].rule, self.outcomes[-1].outcome) == (rule.id, "fitted"):
            self.outcomes.pop()
        why = "it changed nothing on the screen"
        self._stopped = Misfit(rule, 0, "effect", why, done=self._earlier.thoughts)
        return self._stopped

    async def _stop(self, step: Step, decision: Decision, sight: Sight) -> GaveUp:
        """Return the exception for a screen without a step. It has the next step if that is known."""
        question = str(getattr(step.tool_call, "question", "")) or "The playbook has no rule for this screen."
        if decision.action is not None and decision.action.ask_human is not None:
            return GaveUp(question, layer=PLAYBOOK)
        if decision.action is not None:
            left = asks_model(self.rules, self.values, self._past, decision)
            return DoesNotFit(left.asked(question), left)
        misfit = await asyncio.to_thread(self._misfit, sight)
        if misfit is None:
            return GaveUp(question, layer=PLAYBOOK)
        self._stopped = misfit = replace(misfit, why="; ".join(filter(None, (misfit.why, self._view.told))))
        return DoesNotFit(f"{question} {misfit.sentence}", misfit)


def _picture(walk: Walk) -> str:
    """Return the digest of the whole frame. A step may change a masked area."""
    return "" if walk.seen is None else walk.seen.frame.digest
