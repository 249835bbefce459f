"""The prose of the repository keeps to plain English: few habits that hide the subject or the noun of a sentence.

Prose is docstrings, comments, string messages and pages without their code. ``make style`` runs this file alone.
"""

from __future__ import annotations

import ast
import gc
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCE, TESTS = 1.5, 3.0
MOST_PER_1000_WORDS = {
    **dict.fromkeys(("holo_tasks", "blocks", "flows", "docs", "deployments"), SOURCE),
    **dict.fromkeys(("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"), SOURCE),
    "tests": TESTS,
}
_BE = "is|are|was|were"
_PRONOUNS = "it|they|an?|the|others?|one|no(?:body)?"
_VERBS = "comes?|came|stands?|goes|shows?|has|had|does|did"
_DEEDS = "has|asks?|waits?|takes?|reads?|looks?|knows?|comes?|begins?|does|did|would|may|can"
HABITS = (
    rf"what (?:{_BE}|{_VERBS}|{_PRONOUNS})",  # a clause in place of a noun: result, reason, region, message
    rf"who(?:ever)? (?:is|was|{_DEEDS})",  # a clause in place of a role: caller, reader, owner
    rf"(?:{_BE}|be|been) told|t(?:ells?|old) of",  # state, report, pass, log
    r"comes? (?:of|to|up)|came (?:of|to)",  # result from, amount to, appear
    r"that is (?:no|none|one)|is (?:no|none)",  # "is not a …", "``None``"
    rf"as (?:it|they) (?:{_BE})",  # unchanged, literal
    r"of (?:it|that|them|which|whom)",  # the noun, or "its", "whose"
    r"(?:no|some)body",  # the person or the process
    r"(?<=,\s)too",  # also
    r"goes by|stands? (?:at|beside|for|in|on)",  # the key, the position, the meaning
    r"so (?:far|long|many|much|often)",  # the number, until now
    r"but for|beside(?:s)?",  # except, next to, as well as
    rf"there (?:{_BE}) (?:no|none)",  # "the … has no", "without"
)
"""Regular expressions of the counted habits, each with the remedy. A page may need a few, so the limits are above 0."""
_WORD = re.compile(r"[A-Za-z']+")
_HABITS = [re.compile(rf"\b(?:{habit})\b".replace(" ", r"\s+"), re.IGNORECASE) for habit in HABITS]
_COMMENT = re.compile(r"(?:^|\s)#(?!\s?(?:type:|noqa|pragma))\s?(.*)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_SHORTEST_MESSAGE = 6


@dataclass(frozen=True)
class Passage:
    """A docstring, a message, a comment or a page, and the line of the file in which it begins."""

    line: int
    text: str

    def habits(self) -> list[int]:
        """Return the line of each habit."""
        starts = (match.start() for habit in _HABITS for match in habit.finditer(self.text))
        return [self.line + self.text.count("\n", 0, start) for start in starts]


@dataclass
class Count:
    """Words and habits of one or more files. ``lines`` maps a file and a line number to the number of its habits."""

    words: int = 0
    lines: Counter[tuple[Path, int]] = field(default_factory=Counter)

    @property
    def per_1000_words(self) -> float:
        return 1000 * self.lines.total() / max(self.words, 1)

    def worst(self, most: int) -> list[str]:
        """Return the lines with the most habits, each with its file, its number and its text."""
        lines = []
        for (path, number), _ in self.lines.most_common(most):
            name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
            lines.append(f"{name}:{number}: {path.read_text(encoding='utf-8').splitlines()[number - 1].strip()}")
        return lines


def passages(path: Path) -> Iterator[Passage]:
    """Yield the prose of a Python file or of a Markdown page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield Passage(1, _CODE.sub(lambda code: "\n" * code[0].count("\n") or " ", text))
        return
    yield from _strings(text)
    for number, line in enumerate(text.splitlines(), 1):
        if "#" in line and (found := _COMMENT.search(line)):
            yield Passage(number, found[1])


def _strings(code: str) -> Iterator[Passage]:
    """Yield docstrings, and the strings of one line that are long enough to be a message."""
    gc.disable()  # Python 3.11.7 reports errors of the parser for objects collected while it parses
    try:
        tree = ast.parse(code)
    finally:
        gc.enable()
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstrings.update(id(first.value) for first in node.body[:1] if isinstance(first, ast.Expr))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            message = "\n" not in node.value and len(_WORD.findall(node.value)) >= _SHORTEST_MESSAGE
            if message or id(node) in docstrings:
                yield Passage(node.lineno, node.value)


def counted(*roots: Path) -> Count:
    """Count the words and the habits of files, or of all Python files and pages below folders."""
    count = Count()
    for root in roots:
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            if path.suffix in (".py", ".md"):
                for passage in passages(path):
                    count.words += len(_WORD.findall(passage.text))
                    count.lines.update((path, line) for line in passage.habits())
    return count


@pytest.mark.parametrize("name", MOST_PER_1000_WORDS)
def test_prose_has_few_riddling_habits(name: str) -> None:
    count, most = counted(ROOT / name), MOST_PER_1000_WORDS[name]
    measured, worst = count.per_1000_words, "\n  ".join(count.worst(10))
    assert measured <= most, (
        f"{name}: {measured:.1f} habits per 1,000 words, at most {most}. "
        f"Write each sentence with a subject and a noun for each value. The worst lines:\n  {worst}"
    )


def test_habits_are_counted_in_docstrings_comments_messages_and_pages(tmp_path: Path) -> None:
    module, page = tmp_path / "module.py", tmp_path / "page.md"
    module.write_text(
        '"""Return what\nis shown.\n\nNobody reads on.\n"""\n'
        "x = 1  # the rest "
        "of it\n"
        'y = "an error says at length what was wrong"\n'
        'z = "what is short"\n'
    )
    page.write_text("A page about nobody.\n\n```sh\necho what is code\n```\nAlso `what is code`.\n\nSo much for it.\n")
    count = counted(tmp_path)
    assert count.lines == Counter((module, line) for line in (1, 4, 6, 7)) + Counter((page, line) for line in (1, 8))
    in_module, in_page = 7 + 4 + 8, 4 + 1 + 4
    assert count.words == in_module + in_page
    assert count.worst(1) == [f'{module}:1: """Return what']


@pytest.mark.parametrize("sentence", ["Return the result.", "The host tells the reader.", "It stands.", "Come soon."])
def test_plain_sentences_count_as_plain(sentence: str) -> None:
    assert Passage(1, sentence).habits() == []
