"""Build the goal of a playbook from a linear run: its steps in their order. Rules for screens are not needed.

A step requires only what tells the right screen from a wrong one. A step that cannot be described safely is left to
the model, in words and with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from holo_tasks.compiler.answers import (
    LEAST_WORDS,
    Answer,
    RecordedAnswer,
    answer_of,
    errors_at_end,
    is_message,
    message_of_item,
    message_read,
)
from holo_tasks.compiler.build import (
    MOST_PATIENCE,
    MOST_SIGNS,
    PATIENCE,
    PATIENCE_A_WAIT,
    UNREAD,
    Builder,
    BuiltGoal,
    ByModel,
    target_texts,
)
from holo_tasks.compiler.control_states import LeftToModel, checked_after, chosen_after, is_of_field
from holo_tasks.compiler.loops import looped
from holo_tasks.compiler.marks import SHORTEST, identity_of, is_label, is_new, is_on, marks_of
from holo_tasks.compiler.new_items import entered_values, enters_an_item, screens_at_ends, without_entered
from holo_tasks.compiler.options import require_after_choice, without_options
from holo_tasks.compiler.parameters import Ambiguous, kind_of_values
from holo_tasks.compiler.paths import TYPING, Visit
from holo_tasks.compiler.recording import Picture, RecordedStep
from holo_tasks.compiler.searches import prompt_of, searched_once, searched_value
from holo_tasks.compiler.step_words import in_words
from holo_tasks.compiler.steps import is_in_empty_cell, key_beside, key_of_row, target_of
from holo_tasks.compiler.targets import (
    Shown,
    has_cut_off_text,
    is_of_item,
    is_readable,
    templated,
    title_of_item,
    without_other_values,
)
from holo_tasks.compiler.titles import dialog_title, shows_title, title_after, with_titles
from holo_tasks.compiler.toggles import may_toggle, press_of_sign
from holo_tasks.core.elements.element_anchors import FIELDS, PRESSED, numbered
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.params import Kind
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.values import PLACEHOLDER, Value, label_of, read_values
from holo_tasks.vision.screen_text import Line, Sight, name_end, plain

MODIFIERS = frozenset({"ctrl", "control", "alt", "super", "meta"})
"""Keys with which others are commands of the window, wherever the keyboard is."""
POINTING = ("click", "double_click", "write_at")
MAY_TOGGLE = "it may be a check box, and the program does not report whether it is checked"
NAMING = ("text", "int")
"""Types of values that may name an item. Programs write amounts and days in their own way, and sum amounts up."""
NO_WORDS = "nothing describes its target: no name, no words and no picture of its own"
OF_ITEM = "its target is a value of the recorded item"
NO_KEY = "other rows have it too, and no value of the item is in its row"
NO_CELL = "it is an empty place in a table or sheet, and the program does not report its cells"
NO_END = "nothing on the screen changed after the last press, so nothing shows that it is done"
NOT_AGAIN = "its target was not found with certainty on a recorded picture"


@dataclass
class StepsBuilder(Builder):
    """Builds the steps of a linear run. ``left`` are the reasons of the steps that are left to the model, by place."""

    left: Mapping[int, str] = field(default_factory=dict)
    loops: bool = True
    """Whether several items of one run become a loop."""
    by_model: list[ByModel] = field(default_factory=list)

    def built(self, way: Sequence[Visit]) -> BuiltGoal:
        """Return the goal for a path that all recordings took."""
        path = [(visit, step) for visit in way for step in visit.steps]
        every: list[list[dict[str, Any]]] = []
        for place, (visit, step) in enumerate(path):
            following = path[place + 1][1] if place + 1 < len(path) else None
            before = path[place - 1] if place else None
            try:
                if why := self.left.get(place) or step.unsure:
                    raise LeftToModel(why)
                every.append([*self._steps(visit, step, before, following)])
            except InvalidUsage as error:
                why = str(error) if isinstance(error, LeftToModel | Ambiguous) else _reason(step)
                words = in_words(step, self._values_of(step), self._private)
                self.by_model.append(ByModel(sum(map(len, every)) + 1, words, why))
                every.append([{"by_model": words, "why": why}])
        require_after_choice([step for _, step in path], every)
        self._let_begin_later(path, every)
        answer, unread = self._answer_step(path, sum(map(len, every)))
        once = self._effect_labels()
        steps, lists, items = self._in_loop([*chain.from_iterable(every)], once)
        steps = [*steps, answer]
        ends = screens_at_ends(self.recordings, self.parameters.values, self.seen)
        absent = entered_values([step for _, step in path], [] if lists else ends, self.parameters.kinds)
        used = self.parameters.used_in(repr([steps, once, absent]))
        enters = enters_an_item([step for _, step in path], self.parameters.values[0], answer)
        told = {"params": used, "lists": lists, "dialogs": self._dialogs(path), "press_once": once, "absent": absent}
        told["again"] = "tell" if enters else ""
        kept = {key: value for key, value in told.items() if value or (key == "dialogs" and value is not None)}
        return BuiltGoal({**kept, "steps": steps}, unread, (*self.by_model,), items)

    def _in_loop(
        self, steps: list[dict[str, Any]], once: Sequence[str]
    ) -> tuple[list[dict[str, Any]], dict[str, dict[str, Kind]], dict[str, list[dict[str, Value]]]]:
        """Return steps with a loop if one run did several items, and the list of the loop with its items.

        A control that is pressed once in a goal is in no loop.
        """
        if not self.loops or len(self.recordings) > 1:
            return steps, {}, {}
        found = looped(steps, self.parameters.every[0], self.recordings[0].data)
        if found is None:
            return steps, {}, {}
        body = next(step["steps"] for step in found.steps if "each" in step)
        if {*target_texts(body)} & {*once}:
            return steps, {}, {}
        kinds = {field: kind_of_values([item[field] for item in found.items]) for field in found.items[0]}
        return found.steps, {found.name: kinds}, {found.name: found.items}

    def _steps(
        self,
        visit: Visit,
        step: RecordedStep,
        before: tuple[Visit, RecordedStep] | None,
        following: RecordedStep | None,
    ) -> Iterator[dict[str, Any]]:
        """Yield the steps for one recorded step. It is one step, apart from keys that are pressed repeatedly."""
        do = self._actions(visit, step)
        if self._names_item(do):
            raise LeftToModel(OF_ITEM)
        if may_toggle(step, following, self.recordings, self.seen):
            do = press_of_sign(step, *self._done(visit, step)[0][1:])
            if not do:
                raise LeftToModel(MAY_TOGGLE)
        if self._is_of_unnamed_row(visit, step):
            raise LeftToModel(NO_KEY)
        if is_in_empty_cell(step, self.seen[step.before.sha256].sight):
            raise LeftToModel(NO_CELL)
        waited = min(MOST_PATIENCE, PATIENCE + PATIENCE_A_WAIT * step.waited)
        for action in do:
            then = [text for text in action.pop("then", []) if not isinstance(text, str) or is_readable(text)]
            del action["thought"]
            if "write" in action and self._was_empty(step, None if before is None else before[1]):
                # The next item may find the text of this one in the field.
                action["write"] = {**action["write"], "overwrite": True}
            if action is do[-1]:
                then = then if self._needs_effect(visit, step, following) else []
                item = [text for text in self._item_after(visit, step) if text not in then]
                if item and len(self.recordings) == 1:
                    then = [one for one in then if not isinstance(one, str)]  # they may also be values of the item
                then = self._with_titles([*item, *then], step.after, step.before, self._done(visit, step)[0][2])
                chosen = self._chosen_after(step, None if before is None else before[1], following)
                then = [one for one in then if not any(is_of_field(one, each["name"]) for each in chosen)]
                then = [*self._lasting(then, visit, step, following), *chosen]
                then += checked_after(step, action.get("click"), self._values_of(step))
            if then:
                action["after"] = then
            if waited > PATIENCE and action is do[-1]:
                action["patience"] = waited
            if focus := self._focus(visit, step, None if before is None else before[1]):
                action["focus"] = focus
            if action is do[0] and before is not None and before[1].tool not in TYPING:
                names = [name for name in self._item(visit, step, before) if not self._is_chosen(name, action)]
                names = self._with_titles(names, step.before, before[1].before, self._done(visit, step)[0][2])
                action = {"before": names, **action} if names else action
            if action is do[-1] and (asked := self._asked_by_keys(visit, step, before)):
                known = action.get("before", [])
                action = {**action, "before": [*known, *(one for one in asked if one not in known)]}
            yield action

    def _lasting(
        self, texts: Sequence[Any], visit: Visit, step: RecordedStep, following: RecordedStep | None
    ) -> list[Any]:
        """Return the conditions after a step that still held when the next step was decided.

        A program may first show another page for a moment. The playbook may look at it before or after that.
        """
        if following is None:
            return [*texts]
        picture, values = following.before, self._done(visit, step)[0][2]
        sight = self.seen[picture.sha256].sight

        def holds(one: Any) -> bool:
            if isinstance(one, str):
                return sight.has(label_of(one, values))
            return "window" not in one or shows_title(one["window"], picture, values)

        return list(filter(holds, texts))

    def _with_titles(
        self, conditions: Iterable[Any], picture: Picture, earlier: Picture, values: Mapping[str, Value]
    ) -> list[Any]:
        """Return conditions in which windows replace texts of title bars."""
        shown, old = ((each, self.seen[each.sha256].sight) for each in (picture, earlier))
        return with_titles(conditions, shown, old, values, self._private)

    def _dialogs(self, path: Sequence[tuple[Visit, RecordedStep]]) -> list[str] | None:
        """Return the titles of the dialogs that the recordings had; ``None`` if the programs did not report them."""
        acted = [(one, number) for visit, step in path for number, one in self._same(visit, step)]
        if not any("dialogs" in step.element for step, _ in acted):
            return None
        titles = [
            dialog_title(title, self.parameters.values[number], self._private)
            for step, number in acted
            for title in numbered(step.element, "dialog")
        ]
        return [title for title in dict.fromkeys(titles) if title.strip("* ")]

    def _focus(self, visit: Visit, step: RecordedStep, before: RecordedStep | None) -> dict[str, str]:
        """Return the element that had the keyboard at a step with keys, if no click chose it right before.

        A click on a button chooses no field: it may open a dialog that has the keyboard.
        """
        facts = step.element
        is_chosen = before is not None and before.points and before.element.get("role") not in PRESSED
        is_typing = step.tool == "write" and not is_chosen
        is_keys = step.tool == "hotkey" and not MODIFIERS.intersection(
            map(str.casefold, step.arguments.get("keys", ()))
        )
        if is_typing and "in_sheet" in facts:
            return self._focus_in_sheet(visit, step)
        if not (is_typing or is_keys) or facts.get("alike") != "1" or facts.get("role") not in FIELDS | PRESSED:
            return {}
        name = templated(facts["name"], self._done(visit, step)[0][2])
        if is_of_item(name, self._private) or any(map(str.isdigit, name)):
            return {}
        within = title_of_item(facts.get("within", ""), self._done(visit, step)[0][2])
        found = {"role": facts["role"], "name": name, "within": within}
        return {key: text for key, text in found.items() if text}

    def _focus_in_sheet(self, visit: Visit, step: RecordedStep) -> dict[str, str]:
        """Return the cell of a spreadsheet that had the keyboard, by the heading of its column and the item's key."""
        facts, values = step.element, self._done(visit, step)[0][2]
        column = templated(facts.get("column", ""), values)
        if not column or is_of_item(column, self._private):
            return {}
        key = key_of_row(facts, values)
        return {"role": facts["role"], **({"row": key} if key else {}), "column": column}

    def _is_of_unnamed_row(self, visit: Visit, step: RecordedStep) -> bool:
        """Return whether a target is one of several alike in a table or list, and no value of the item names its row.

        Of a list without rows, several texts beside a button show that they are not the label of a form.
        """
        facts, values = step.element, self._done(visit, step)[0][2]
        if "in_row" not in facts or not step.points:
            is_listed = len(numbered(facts, "beside")) > 1 and not facts.get("right_of", "").endswith(":")
            return is_listed and bool(step.points and facts["name"]) and not key_beside(facts, values)
        if "in_sheet" in facts and not key_of_row(facts, values):
            # A form has one label in a row. A row of a list has more texts, or a number, and belongs to one item.
            texts = numbered(facts, "cell")
            return len(texts) > 1 or any(map(str.isdigit, "".join(texts)))
        named = "{" in templated(facts.get("name", ""), values)
        return facts.get("alike", "1") != "1" and not named and not key_of_row(facts, values)

    def _needs_effect(self, visit: Visit, step: RecordedStep, following: RecordedStep | None) -> bool:
        """Return whether the effect of a step is required. Of one run, only if the next target was there before it."""
        if len(self.recordings) > 1 or following is None:
            return True
        if following.element.get("within") and following.element["within"] != step.element.get("within"):
            return False  # the next target is in a window that was not there before
        _, sight, values = self._done(visit, step)[0]
        after = self.seen[following.before.sha256].sight
        target = target_of(following, 0, after, values)
        try:
            return target is None or target.text is None or bool(find(target, values, sight))
        except NotFound:
            return False

    def _was_empty(self, step: RecordedStep, before: RecordedStep | None) -> bool:
        """Return whether a text was typed into an empty field, as far as the picture or the program tells."""
        if step.element.get("empty"):
            return step.element.get("role") in FIELDS
        clicked = step if step.points else before
        if step.element.get("role") or clicked is None or not clicked.points or clicked.tool not in POINTING:
            return False
        sight = self.seen[step.before.sha256].sight
        fields = [box for box in (*sight.fields, *sight.colored_fields) if box.contains(clicked.points[0])]
        field = min(fields, key=lambda box: box.area, default=None)
        return field is not None and not any(
            field.contains(line.box.center) and len(plain(line.text)) > 1 for line in sight.lines
        )

    def _item(self, visit: Visit, step: RecordedStep, before: tuple[Visit, RecordedStep]) -> list[Any]:
        """Return the texts by which a screen or a dialog names the item in a new place.

        Texts that the step before requires already are left out.
        """
        if own := self._item_in_dialog(visit, step, before[1]):
            return [*own]
        earlier, known = [sight for _, sight, _ in self._done(*before)], repr(self._item_after(*before))
        shown = self._shown(visit, step)
        came = visit is not before[0] and self._is_known(visit.screen, shown)
        typed = templated(str(step.arguments.get(TYPING.get(step.tool, ""), "")), shown[0][1])
        number, _ = self._same(visit, step)[0]
        later = self.recordings[number].steps[self.recordings[number].steps.index(step) :]
        others = [
            (without_options(sight, one, self.recordings[owner], self.seen, told), told)
            for (owner, one), (sight, told) in zip(self._same(visit, step), shown, strict=True)
        ]
        new = self._named_newly(others, earlier, came=came, typed=typed)
        new = without_entered(new, later, self.parameters.values[number])
        return [text for text in new if text.strip("*") not in known]

    def _is_chosen(self, name: Any, action: Mapping[str, Any]) -> bool:
        """Return whether an action presses or types this value without a digit: it is an option, and no item's key.

        A list may show the recorded option, and the next one only after the typing or further down.
        """
        found = PLACEHOLDER.fullmatch(name) if isinstance(name, str) else None
        if found is None or any(map(str.isdigit, str(self.parameters.values[0].get(found[1], "")))):
            return False
        pressed = target_texts([{kind: action[kind] for kind in ("click", "double_click") if kind in action}])
        return name in [action.get("write", {}).get("text"), *pressed]

    def _item_in_dialog(self, visit: Visit, step: RecordedStep, before: RecordedStep) -> list[dict[str, str]]:
        """Return the texts that name the item in a dialog that the step before was not in.

        The page below the dialog may also name the item, so a text on the screen is not enough.
        """
        within = step.element.get("within", "")
        if not within or within == before.element.get("within") or within not in numbered(step.element, "dialog"):
            return []
        kinds = self.parameters.kinds
        values = {name: value for name, value in self._done(visit, step)[0][2].items() if kinds[name] in NAMING}
        texts = [templated(text, values) for text in numbered(step.element, "text")]
        told = [text for text in texts if PLACEHOLDER.search(text) and not is_of_item(text, self._private)]
        names = [without_other_values(text) for text in told[:1]]
        return [{"name": name, "within": title_of_item(within, values), "text": name} for name in names]

    def _is_known(self, screen: int, shown: Shown) -> bool:
        """Return whether readable texts distinguish a screen from all others. Otherwise OCR may have read it badly."""
        others = [one.sight for one in self.seen.values() if one.screen != screen]
        marks = marks_of(shown, others, self._private)
        return bool(marks) and all(map(is_readable, marks))

    def _named_newly(self, shown: Shown, earlier: Sequence[Sight], *, came: bool, typed: str = "") -> list[str]:
        """Return the texts by which pictures name the item, in places where earlier pictures did not name it.

        A value that was just typed does not prove the right screen. The program may write it in its own way. If another
        screen ``came``, a value with a digit counts in any place, because it is a key of the item. That does not hold
        for values in the ``typed`` text, such as a search term.
        """
        new = [
            name
            for name in self._names
            if self.parameters.kinds[name] in NAMING
            and all(
                (came and f"{{{name}" not in typed and any(map(str.isdigit, str(values.get(name, "")))))
                or is_new(str(values.get(name, "")), sight, before)
                for (sight, values), before in zip(shown, earlier, strict=True)
            )
        ]
        return list(identity_of(shown, new))

    def _item_after(self, visit: Visit, step: RecordedStep) -> list[str]:
        """Return the first label with a value of the item that appeared after a step, such as ``Record {number}``.

        One label shows the effect. A further one may be cut off for the next item.
        """
        if step.tool in TYPING and not step.arguments.get("press_enter"):
            return []
        same = [(one, self.parameters.values[number]) for number, one in self._same(visit, step)]
        shown = [(self.seen[one.before.sha256].sight, self.seen[one.after.sha256].sight, told) for one, told in same]
        _, first, values = shown[0]
        names = {name: value for name, value in values.items() if self.parameters.kinds[name] in NAMING}
        owner, own = self._same(visit, step)[0]
        lines = without_options(first, own, self.recordings[owner], self.seen, names).lines
        found = dict.fromkeys(text for line in lines if (text := self._label_of_item(line, names)))
        came = [
            text
            for text in found
            if all(
                after.has(label_of(text, told)) and not before.has(label_of(text, told))
                for before, after, told in shown
            )
        ]
        labels = [text for text in came if not any(text != one and text.endswith(one) for one in came)]
        return labels[:1] or searched_value(step, shown, self.parameters.kinds)

    def _asked_by_keys(self, visit: Visit, step: RecordedStep, before: tuple[Visit, RecordedStep] | None) -> list[Any]:
        """Return the conditions for a text that is typed by keys: its prompt, and the row that it searches for."""
        found: list[Any] = []
        if before is not None and not before[1].points:
            earlier = [sight for _, sight, _ in self._done(*before)]
            found += prompt_of(step, earlier, self._shown(visit, step), self._private)
        if step.arguments.get("press_enter"):
            same = [(one, self.parameters.values[number]) for number, one in self._same(visit, step)]
            shown = [
                (self.seen[one.before.sha256].sight, self.seen[one.after.sha256].sight, told) for one, told in same
            ]
            found += searched_once(step, shown, self.parameters.kinds)
        return found

    def _label_of_item(self, line: Line, values: Mapping[str, Value]) -> str:
        """Return the words before a value of the item, with its parameter. Returns an empty string without both."""
        text = templated(line.text, values)
        found = PLACEHOLDER.search(text)
        words = text[: found.start()] if found else ""
        if found is None or sum(map(str.isalpha, words)) < LEAST_WORDS or any(map(str.isdigit, words)):
            return ""
        if has_cut_off_text(line.text):
            return ""
        rest = text[found.end() :]
        end = name_end(rest)
        said = f"{words}{found[0]}{end}" + ("*" if rest[len(end) :].strip() else "")
        if is_of_item(words, self._private) or "*" in words or not is_readable(words):
            return ""
        return f"*{said[2:]}" if said[1] == " " else said  # OCR may take an icon before a label for a letter

    def _values_of(self, step: RecordedStep) -> Mapping[str, Value]:
        """Return the values of the recording that a step belongs to."""
        every = zip(self.recordings, self.parameters.values, strict=True)
        return next(told for one, told in every if step in one.steps)

    def _chosen_after(
        self, step: RecordedStep, before: RecordedStep | None, following: RecordedStep | None
    ) -> list[dict[str, Any]]:
        """Return the condition that a combo box has the option that a step chose, which no other item has as a text."""
        after = step.after if following is None else following.before
        found = chosen_after(step, before, self.seen[after.sha256].sight, self._values_of(step))
        return [one for one in found if not is_of_item(one["holds"], self._private)]

    def _let_begin_later(
        self, path: Sequence[tuple[Visit, RecordedStep]], every: Sequence[list[dict[str, Any]]]
    ) -> None:
        """Allow the list to begin on a later screen, if only clicks led there and texts distinguish the screen."""
        known: set[int] = set()
        once = self._effect_labels()
        for (visit, step), do in zip(path, every, strict=True):
            within = step.element.get("within")
            if known and visit.screen not in known and "by_model" not in do[0] and not within:
                others = [one.sight for one in self.seen.values() if one.screen != visit.screen]
                marks = [*marks_of(self._shown(visit, step), others, self._private)]
                if marks and all(map(is_readable, marks)):
                    do[0] = {"before": [*dict.fromkeys([*marks, *do[0].pop("before", [])])], "opens": True, **do[0]}
            known.add(visit.screen)
            texts = [*target_texts(do)]
            if step.tool != "click" or step.element.get("checked") or not texts or {*texts} & {*once}:
                return
            if any("{" in text for text in texts):
                return

    def _answer_step(
        self, path: Sequence[tuple[Visit, RecordedStep]], count: int
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the step that answers, and the names of the values that the model reads.

        It requires evidence that the work is done, if a recorded screen has any.
        """
        every = list(zip(self.recordings, self.parameters.values, strict=True))
        given = [
            RecordedAnswer(one.answer, self.seen[one.last.sha256].sight, values, one.goal) for one, values in every
        ]
        befores = [self.seen[one.steps[-1].before.sha256].sight for one in self.recordings]
        answer = answer_of(given, befores=befores)
        shown = [(one.sight, one.values) for one in given]
        told: dict[str, Any] = {}
        if signs := self._signs(path, given, befores, answer):
            told["before"] = signs
        screen = self.seen[self.recordings[0].last.sha256].screen
        came = screen != path[-1][0].screen and self._is_known(screen, shown)
        if item := [
            text for text in self._named_newly(shown, befores, came=came) if text.strip("*") not in repr(signs)
        ]:
            told["before"] = [*signs, *item]
        is_fixed = not (answer.reads or answer.unread)
        if is_fixed:
            told = self._with_end(told, path, given, befores)
        if told.get("before"):
            last, earlier = self.recordings[0].last, self.recordings[0].steps[-1].before
            told["before"] = self._with_titles(told["before"], last, earlier, given[0].values)
        unseen = all(one.steps[-1].points for one in self.recordings) and is_fixed
        if self._dialogs(path) is not None:
            # The model or the person saw the end, and an error would be a dialog that no recording had.
            unseen = unseen and any(one.steps[-1].before == one.steps[-1].after for one in self.recordings)
        if why := self.left.get(len(path)) or (NO_END if unseen and not told else ""):
            self.by_model.append(ByModel(count + 1, "Look whether it is done, and answer.", why))
            return {"ask_model": f"Whether it is done: {why}."}, ()
        # If the dialogs are known, an error would be one that no recording had.
        unproven = answer.needs_evidence and not told and self._dialogs(path) is None
        unread = answer.unread or (("answer",) if unproven else ())
        if unread:
            told["ask_model"] = UNREAD.format(", ".join(unread))
            return told, unread
        reads = {name: read.model_dump(by_alias=True, exclude_defaults=True) for name, read in answer.reads.items()}
        for name, read in answer.reads.items():
            pairs = zip(befores, (one.values for one in given), strict=True)
            if all((read_values({name: read}, sight, values) or {}).get(name) is None for sight, values in pairs):
                reads[name]["new"] = True
        firsts = [self.seen[one.steps[0].before.sha256].sight for one in self.recordings]
        said = [text for first, one in zip(firsts, given, strict=True) for text in errors_at_end(first, one)]
        errors = [text for text in dict.fromkeys(said) if not is_of_item(text, self._private)]
        found = {"read": reads, "allow_errors": errors}
        return {**told, **{key: value for key, value in found.items() if value}, "answer": answer.content}, ()

    def _with_end(
        self,
        told: dict[str, Any],
        path: Sequence[tuple[Visit, RecordedStep]],
        given: Sequence[RecordedAnswer],
        befores: Sequence[Sight],
    ) -> dict[str, Any]:
        """Add evidence of the end, unless a required text was not on the screen before the last press.

        The item may have been named there before, for example in a list.
        """
        asked: list[Any] = told.get("before", [])
        pairs = [*zip(befores, given, strict=True)]
        if not all(sight.has(label_of(text, one.values)) for text in asked for sight, one in pairs):
            return told
        end = self._end(path, given, befores)
        every = [*asked, *end.get("before", [])]
        return {**told, **end, **({"before": every} if every else {})}

    def _end(
        self,
        path: Sequence[tuple[Visit, RecordedStep]],
        given: Sequence[RecordedAnswer],
        befores: Sequence[Sight],
    ) -> dict[str, Any]:
        """Return the evidence of the end for an answer without values: a message with a number, or what disappeared.

        After a press that stores a form, its button or its values may be gone. An error leaves them there.
        """
        first = given[0].sight  # a text that an earlier picture shows was only hidden before the last step
        earlier = [*befores, *(self.seen[step.before.sha256].sight for _, step in path)]
        come = [line for line in first.lines if not any(is_on(sight, line, first) for sight in earlier)]
        if (read := message_read(come, given, befores, self._private)) is not None:
            return {"read": {"message": {**read.model_dump(by_alias=True, exclude_defaults=True), "new": True}}}
        _, step = path[-1]
        target = target_of(step, 0, self.seen[step.before.sha256].sight, given[0].values)
        gone: list[str | dict[str, str]] = []
        if target is not None and target.text and not target.relations:
            facts = {name: text for name in ("role", "name", "within", "text") if (text := getattr(target, name))}
            gone.append(facts if "role" in facts else target.text)
        gone += [f"{{{name}}}" for name in self.parameters.kinds]
        went: list[dict[str, Any]] = [{"gone": one} for one in gone if self._went(one, given, befores)]
        title = title_after(self.recordings, [one.values for one in given], self._private)
        every = [*went[:1], *([{"window": title}] if title else ())]
        return {"before": every} if every else {}

    def _went(self, one: str | dict[str, str], given: Sequence[RecordedAnswer], befores: Sequence[Sight]) -> bool:
        """Return whether a text was on all screens before the last step, and on no screen after it."""
        text = one if isinstance(one, str) else one["text"]
        labels = [label_of(text, answer.values) for answer in given]
        there = all(len(label) >= SHORTEST and sight.has(label) for label, sight in zip(labels, befores, strict=True))
        return there and not any(answer.sight.has(label) for label, answer in zip(labels, given, strict=True))

    def _signs(
        self,
        path: Sequence[tuple[Visit, RecordedStep]],
        given: Sequence[RecordedAnswer],
        befores: Sequence[Sight],
        answer: Answer,
    ) -> list[str]:
        """Return texts of the last screen that show that the work is done.

        A message about the item is required on a new screen, too: a failure may lead to the same screen.
        """
        screen = self.seen[self.recordings[0].last.sha256].screen
        shown = [(one.sight, one.values) for one in given]
        marks: list[str] = []
        if all(visit.screen != screen for visit, _ in path):
            others = [one.sight for one in self.seen.values() if one.screen != screen]
            marks = [text for text in marks_of(shown, others, self._private) if is_readable(text)]
        if answer.reads:
            return marks
        first, values = shown[0]
        come = [line for line in first.lines if not any(is_on(sight, line, first) for sight in befores)]
        labels = [line.text for line in come if is_label(line, first, values, self._private)]
        if len(given) == 1:
            labels = [text for text in labels if is_message(text)]
        labels = [text for text in labels if is_readable(text) and all(sight.has(text) for sight, _ in shown)]
        messages = [text for line in come if (text := message_of_item(line, shown, self._private))]
        if marks:
            return [*dict.fromkeys([*marks, *messages[:1]])]
        return [*dict.fromkeys([*messages, *labels])][:MOST_SIGNS]


def _reason(step: RecordedStep) -> str:
    return NO_WORDS if step.points else f"no playbook action does the same ({step.tool})"
