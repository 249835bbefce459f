"""Find out how a playbook can read its answer from the screen. A recorded value is never used as an answer again."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, islice
from typing import Any

from holo_tasks.compiler.targets import has_words, is_of_item, is_readable, templated
from holo_tasks.core.texts.failure_words import says_failure, without_accents
from holo_tasks.scripts.playbook import Read
from holo_tasks.scripts.values import PLACEHOLDER, Value, convert, fill, read_values
from holo_tasks.vision.screen_text import Line, Sight, on_row, overlap

KINDS = ("int", "money", "date", "text")
PATTERNS = {"int": r"(-?\d+)", "money": r"(-?[\d,.' ]*\d)", "date": r"(\d{4}.?\d\d.?\d\d)", "text": "(.+?)"}
LEAST_WORDS = 3
"""The fewest letters of the text before a value. Shorter texts do not identify the value."""
MOST_LINES = 4
"""The most lines of a message that are joined."""


@dataclass(frozen=True)
class Answer:
    """The answer of a playbook, and how each of its values is read.

    ``content`` is the answer with placeholders such as ``{total}``. ``unread`` names the values that cannot be read
    from a screen. ``needs_evidence`` is set if the answer only says that the work is done: the screen must show it.
    """

    content: Any
    reads: Mapping[str, Read]
    unread: tuple[str, ...] = ()
    needs_evidence: bool = False


@dataclass(frozen=True)
class RecordedAnswer:
    """A recorded answer, the screen that it was given on, and the parameter values of its recording."""

    content: str
    sight: Sight
    values: Mapping[str, Value]
    goal: str = ""
    """The task in words, without its data."""


def value_of(answer: str) -> Any:
    """Return the JSON value of an answer. Returns the text itself if it is not JSON."""
    try:
        return json.loads(answer)
    except ValueError:
        return answer


def answer_of(
    given: Sequence[RecordedAnswer], others: Sequence[RecordedAnswer] = (), befores: Sequence[Sight] = ()
) -> Answer:
    """Return how to read the answers of recordings that ended on the same screen of the program.

    ``befores`` are the screens before the last steps. A message that they do not show may be an answer without change.

    A value such as ``true`` or ``null`` cannot be read as text, so the screen itself has to imply it. That is
    only accepted if ``others``, which ended on another screen, all have a different value there.
    """
    values = [value_of(one.content) for one in given]
    if all(value == "" for value in values):
        return Answer("", {})  # the goal asked for no value
    if not all(isinstance(value, dict) for value in values):
        if all(reports_done(one.content, one.goal) for one in given):
            return Answer(given[0].content, {}, needs_evidence=True)
        if read := next(_reads("answer", values, given, befores), None):
            return Answer("{answer}", {"answer": read})
        if all(is_asked_for(one.content, one.goal) for one in given):
            return Answer(given[0].content, {})
        return Answer(None, {}, ("answer",))
    reads: dict[str, Read] = {}
    content: dict[str, Any] = {}
    unread = []
    for name in dict.fromkeys(name for value in values for name in value):
        leaves = [value.get(name) for value in values]
        place = f"{_slug(name)}_read" if any(_slug(name) in one.values for one in given) else _slug(name)
        if isinstance(leaves[0], bool) or leaves[0] is None:
            content[name] = leaves[0]
            if not _is_implied_by_screen(name, leaves, others):
                unread.append(name)
        elif read := next(_reads(place, leaves, given, befores), None):
            reads[place], content[name] = read, f"{{{place}}}"
        else:
            unread.append(name)
    return Answer(content, reads, tuple(unread))


_ASKED = re.compile(
    r"(?:(?:then|finally|at the end|(?:when|once) (?:it|that|all|everything) is (?:done|finished)),? )?"
    r"answer(?: only)?(?: with)?(?: the words?)? [“\"‘']?(.+?)[”\"’']?",
    re.IGNORECASE,
)
"""A sentence of a task that asks for an answer in fixed words, without any condition."""


def is_asked_for(answer: str, goal: str) -> bool:
    """Return whether a task asks for an answer in these very words at its end, such as ``Answer done.``

    The words may be no choice: ``Answer yes or no.`` asks for a judgement of the screen.
    """
    sentences = [
        each.strip() for each in re.split(r"[.;!?\n]+(?:\s|$)", goal) if re.search(r"\banswer", each, re.IGNORECASE)
    ]
    found = _ASKED.fullmatch(sentences[0]) if len(sentences) == 1 else None
    return found is not None and found[1] == answer.strip()


_REPORTS = frozenset({"done", "all done", "finished", "completed", "complete", "task completed", "task complete"})
_WANTS_ANSWER = re.compile(
    r"\?|\b(?:answers?|tell|say|reports?|returns?|repl(?:y|ies)|respond|output|give|read|whether|if|unless|which|what|when"
    r"|who|where|how|check|look|verify|count|compare|find|see|determine|decide|confirm|ensure|(?:make|be) sure|identify"
    r"|calculate|review|inspect|validate|in case|as long as|provided|depending|until|otherwise|else|either|or|except"
    r"|only|need(?:s|ed)?|necessary|any|falls|wenn|ob|sofern|soweit|sonst|nur|\w*pruf\w*|si|sinon|verifi\w*|se|senao"
    r"|altrimenti|jesli|jezeli|sprawdz\w*|als|indien|controleer|anders)\b"
)
"""Words of a task that may ask for something, or for a choice."""
_IS_ENGLISH = re.compile(
    r"\b(?:the|this|that|these|those|its?|and|with|from|into|"
    r"(?:add|book|change|close|create|delete|enter|make|open|put|remove|send|set|store|write) (?:an?|all))\b"
)
"""Words by which a task is in English. Words such as *in*, *to* and *a* also belong to other languages."""


def reports_done(answer: str, goal: str) -> bool:
    """Return whether an answer only says that the work is done, to a task that neither asks nor leaves a choice.

    The words that ask are known in English, so a task in another language may ask for anything.
    """
    said, task = answer.strip().rstrip(".!").casefold(), without_accents(goal)
    return said in _REPORTS and _IS_ENGLISH.search(task) is not None and _WANTS_ANSWER.search(task) is None


def _is_implied_by_screen(name: str, leaves: Sequence[Any], others: Sequence[RecordedAnswer]) -> bool:
    values = [value_of(one.content) for one in others]
    elsewhere = [value[name] for value in values if isinstance(value, dict) and name in value]
    same = all(leaf is leaves[0] for leaf in leaves)
    return same and bool(elsewhere) and all(value is not leaves[0] for value in elsewhere)


def _reads(
    place: str, leaves: Sequence[Any], given: Sequence[RecordedAnswer], befores: Sequence[Sight]
) -> Iterator[Read]:
    """Yield the ways to read a value that return the recorded answer on every screen."""
    if not all(isinstance(leaf, str | int) and not isinstance(leaf, bool) and str(leaf).strip() for leaf in leaves):
        return
    is_whole = leaves[0] == value_of(given[0].content)
    for read in chain(_candidates(leaves[0], given[0]), _messages(leaves[0], given[0], befores if is_whole else ())):
        if all(_is_read(place, read, leaf, one) for leaf, one in zip(leaves, given, strict=True)):
            yield read


def _is_read(place: str, read: Read, leaf: Any, one: RecordedAnswer) -> bool:
    found = read_values({place: read}, one.sight, one.values)
    return found is not None and found[place] == leaf and type(found[place]) is type(leaf)


def _candidates(leaf: Any, one: RecordedAnswer) -> Iterator[Read]:
    """Yield ways to read a value: right of a label, or after fixed words in a line.

    Ways whose label or words contain another value of the answer are skipped.
    """
    answer = value_of(one.content)
    values = map(str, answer.values()) if isinstance(answer, dict) else ()
    others = [value for value in values if len(value) > 1 and value != str(leaf)]
    for read in _possible_reads(leaf, one):
        if not is_of_item((read.right_of or read.line or "").replace(" ?", " ").replace("\\", ""), others):
            yield read


def _possible_reads(leaf: Any, one: RecordedAnswer) -> Iterator[Read]:
    kinds = [kind for kind in KINDS if (kind == "int") == isinstance(leaf, int)]
    shape = _shape(leaf)
    like = {"like": shape} if shape else {}
    cells = list(_cells(leaf, one, kinds))
    for kind, key, heading in cells:
        yield Read.model_validate({"row": key, "column": heading, "as": kind, **(like if kind == "text" else {})})
    if cells:
        return  # the other texts of the row belong to the recorded item, and the next item may have them in another row
    for kind in kinds:
        for line in one.sight.lines:
            is_label = _is_label(line.text) and (line.text.isascii() or has_words(line, one.sight.lines))
            said = one.sight.right_of(line.text) if is_label else None
            if said is not None and convert(said, kind) == leaf and templated(line.text, one.values) == line.text:
                yield Read.model_validate({"right_of": line.text, "as": kind, **(like if kind == "text" else {})})
    for kind in kinds:
        for line in one.sight.lines:
            if pattern := _pattern(line.text.strip(), kind, leaf, one.values):
                yield Read.model_validate({"line": pattern, "as": kind})


def _is_label(text: str) -> bool:
    """Return whether a text can be a label. Digits without a letter, such as “1,1 (0/152)”, change with the item."""
    return any(map(str.isalpha, text)) or not any(map(str.isdigit, text))


def _cells(leaf: Any, one: RecordedAnswer, kinds: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the cells of a table with a value: its kind, the item's key in its row, and the heading of its column.

    The headings of the value and of the key are on one row.
    """
    lines = one.sight.lines
    for cell in lines:
        kind = next((kind for kind in kinds if convert(cell.text, kind) == leaf), None)
        keys = [line for line in lines if line is not cell and on_row(line.box, cell.box)]
        for line in keys if kind is not None else ():
            key = templated(line.text.strip(), one.values)
            if PLACEHOLDER.fullmatch(key) and (heading := _heading(cell, line, one)):
                yield str(kind), key, heading


def _heading(cell: Line, key: Line, one: RecordedAnswer) -> str:
    """Return the heading above a cell, if the column of the row's key has one at the same height."""
    above = [
        line for line in one.sight.lines if line.box.bottom <= cell.box.top and not any(map(str.isdigit, line.text))
    ]
    over = [line for line in above if overlap(line.box, cell.box) and templated(line.text, one.values) == line.text]
    own = [line for line in above if overlap(line.box, key.box)]
    found = [line for line in over if any(on_row(line.box, other.box) and other is not line for other in own)]
    return min(found, key=lambda line: line.box.top).text if found else ""


def _shape(leaf: Any) -> str:
    """Return a pattern for a number with letters, such as S-4137. Returns an empty string for other texts."""
    text = leaf.strip() if isinstance(leaf, str) else ""
    if not any(map(str.isdigit, text)) or any(map(str.isspace, text)):
        return ""
    parts = re.findall(r"\d+|[^\W\d_]+|[\W_]", text)
    return "".join(r"\d+" if part.isdigit() else "[^\\W\\d]+" if part.isalpha() else re.escape(part) for part in parts)


def _messages(leaf: Any, one: RecordedAnswer, befores: Sequence[Sight]) -> Iterator[Read]:
    """Yield ways to read an answer that is a message of the program, such as ``Stored as S-1234``.

    Numbers and values of the item may differ. A message without them must not be visible before the last step.
    """
    if not isinstance(leaf, str):
        return
    text = templated(leaf.strip(), one.values)
    fixed = _VARIES.sub("", text)
    is_constant = fixed == text
    if sum(map(str.isalpha, fixed)) < LEAST_WORDS or not is_readable(fixed) or (is_constant and not is_message(text)):
        return
    if is_constant and (not befores or any(sight.has(text) for sight in befores)):
        return
    for line in one.sight.lines:
        said = line.text.strip()
        start = said.find(leaf.strip())
        if start >= 0 and not any(map(str.isdigit, said[:start])):
            before, after = (_around(piece, one.values) for piece in (said[:start], said[start + len(leaf.strip()) :]))
            yield Read.model_validate({"line": f"{before}({_varying(text)}){after}", "as": "text"})


def _around(text: str, values: Mapping[str, Value]) -> str:
    """Return a pattern for the text around a message. Only its values and numbers may differ.

    Other words may say the opposite, such as ``Stored as S-1234 by another user``.
    """
    return _varying(templated(text, values)) if text.strip() else " ?" if text else ""


_VARIES = re.compile(r"\{[a-z_][a-z0-9_]*(?::[^{}]+)?\}|\d(?:[.,' ]?\d)*")
"""A value of the item, or a number. ``3, 0`` are two numbers."""


def _varying(text: str) -> str:
    """Return a pattern for a text with the next item's values in it, and with other numbers."""
    found, end = "", 0
    for varying in _VARIES.finditer(text):
        number = varying[0] if varying[0].startswith("{") else _other_number(text, varying)
        found += _loosely(text[end : varying.start()]) + number
        end = varying.end()
    return found + _loosely(text[end:])


def _other_number(text: str, number: re.Match[str]) -> str:
    """Return a pattern for a number that may differ. Nothing and something are different messages.

    ``Removed 0 rows`` is a failure where 3 rows were removed, and so is ``Stored, 2 errors`` where 0 were recorded. The
    0 of a date, a time, a duration or a number such as S-0 may differ.
    """
    before, after = text[: number.start()][-1:], text[number.end() :][:1]
    moments = (found.span() for found in _MOMENT.finditer(text))
    is_free = before.strip("(: ") or after.isalnum() or any(start <= number.start() < end for start, end in moments)
    if not is_free and set(number[0]) == {"0"}:
        return "0+"
    return ("" if is_free else r"(?!0+(?![.,]?\d))") + r"\d[\d.,' ]*"


_MOMENT = re.compile(
    rf"({PLACEHOLDER.pattern})|(?<!\d)(?:\d{{1,4}}(?P<mark>[-/.])\d\d?(?P=mark)\d{{1,4}}|\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?"
    r"|\d+(?:[.,]\d+)?(?= ?(?:m?s|secs?|mins?|se[cgk][ou]nd\w*|minut\w*)\b))",
    re.IGNORECASE,
)
"""A date, a time or a duration; or, as its group, a value of the item. Other numbers may be the code of an error."""


def errors_at_end(first: Sight, one: RecordedAnswer) -> list[str]:
    """Return the new texts that read like an error on the last screen of a recording, which answered nevertheless.

    They have parameters in place of the item's values, and ``*`` in place of dates, times and durations. A text that
    goes on in other lines is returned with each possible number of lines.
    """
    new = [line for line in one.sight.lines if not first.has(line.text)]
    found: list[str] = []
    for line in new:
        texts = (each.text.strip() for each in (line, *islice(_continued(line, new), MOST_LINES - 1)))
        said = [templated(text, one.values) for text in accumulate(texts, "{} {}".format)]
        found += (text for text in said if says_failure(PLACEHOLDER.sub(" ", text)))
    return [*dict.fromkeys(_MOMENT.sub(lambda found: found[1] or "*", text) for text in found)]


def _continued(line: Line, lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines directly below a line and at its left edge, which may go on with its text."""
    for below in sorted(lines, key=lambda each: each.box.top):
        gap = below.box.top - line.box.bottom
        if below is not line and abs(below.box.left - line.box.left) <= line.box.height and 0 <= gap < line.box.height:
            yield below
            line = below


def is_message(text: str) -> bool:
    """Return whether a text looks like a message of the program, and not like a value: its later words are small.

    A day or a time, such as “28th November at 10:05pm”, is another one in the next run. A text that ends in an
    ellipsis, such as “Saving document...”, says that the program is at work, and passes. An icon before the text may be
    read as a number, as in “(0) Done”.
    """
    if _NUMBERED.match(text) or _CLOCK.search(text) or text.rstrip().endswith(("..", "…")):
        return False
    words = [word for word in text.replace(":", " ").split() if word[:1].isalpha()]
    if len(words) == 1:
        word = words[0].casefold().strip(".!")
        return word.endswith("ed") or word in _DONE
    return len(words) > 1 and words[0][0].isupper() and all(word.islower() for word in words[1:])


def is_message_of_item(text: str) -> bool:
    """Return whether a text with parameters looks like a message. It may begin with one: ``{number} was stored``."""
    found = PLACEHOLDER.match(text)
    if found is None:
        return is_message(text)
    words = PLACEHOLDER.sub("", text).split()
    return is_message(f"It {text[found.end() :]}") and (len(words) > 1 or is_message(words[0] if words else ""))


def message_of_item(line: Line, shown: Sequence[tuple[Sight, Mapping[str, Value]]], private: Collection[str]) -> str:
    """Return a message with parameters in place of the item's values. Returns an empty string for another text."""
    text = templated(line.text, shown[0][1])
    rest = text.replace("{", "").replace("}", "")
    if "{" not in text or not is_message_of_item(text) or any(map(str.isdigit, rest)) or is_of_item(text, private):
        return ""
    return text if all(sight.has(fill(text, values)) for sight, values in shown) else ""


def message_read(
    lines: Iterable[Line], given: Sequence[RecordedAnswer], befores: Sequence[Sight], private: Collection[str]
) -> Read | None:
    """Return how a message with a number or an amount is read on every screen. Returns ``None`` without such a line."""
    for line in lines:
        said = templated(line.text, given[0].values)
        if not is_message_of_item(said) or is_of_item(said, private):
            continue
        reads = answer_of([replace(given[0], content=line.text)], befores=befores).reads
        if reads and all(read_values(reads, one.sight, one.values) for one in given):
            return next(iter(reads.values()))
    return None


_CLOCK, _NUMBERED = re.compile(r"\d:\d\d"), re.compile(r"\W*\d")
_DONE = frozenset({"done", "ok", "ready", "success", "fertig", "gespeichert"})


def _pattern(text: str, kind: str, leaf: Any, values: Mapping[str, Value]) -> str:
    """Return a pattern for a line with a value after fixed words.

    Returns an empty string if the line has no such value.
    """
    looked_for = f"({re.escape(str(leaf))})" if kind == "text" else PATTERNS[kind]
    shape = _shape(leaf) if kind == "text" else ""
    for found in re.finditer(looked_for, text):
        before, after = text[: found.start()], text[found.end() :]
        words = templated(before, values)
        fixed = PLACEHOLDER.sub("", words)
        is_fixed = not any(map(str.isdigit, fixed)) and sum(map(str.isalpha, fixed)) >= LEAST_WORDS
        if convert(found[1], kind) == leaf and is_fixed:
            number = f"({shape})" if shape else PATTERNS[kind]
            end = r"\b" if after[:1].isspace() and kind == "int" else ""
            return _varying(words) + number + end + _around(after, values)
    return ""


def _loosely(text: str) -> str:
    """Return a pattern for a text in which OCR may lose spaces."""
    return " ?".join(re.escape(word) for word in text.split(" "))


def _slug(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
    return plain if re.match("[a-z_]", plain) else f"value_{plain}"
