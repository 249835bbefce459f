"""Let a person approve an action by a hand-off, while the run waits.

`ByHandOff` implements `loop.approval.Approver`. `notify` tells people that an approval waits.
"""

from __future__ import annotations

from dataclasses import replace

from holo_tasks.core.errors import PolicyRefused
from holo_tasks.core.person import NO, YES
from holo_tasks.handoff.hand_over import ask_person
from holo_tasks.loop.approval import ApprovalQuestion
from holo_tasks.loop.walk import Walk
from holo_tasks.run.subgoal_context import current_walk


class ByHandOff:
    """`Approver` that hands the screen to a person and waits for their approval of an action.

    An approval is kept in memory and used once. It is valid for exactly this action, on exactly this screen, in the
    step that asked. An unused approval is dropped at the next question.
    """

    def __init__(self) -> None:
        self._approvals: dict[tuple[ApprovalQuestion, int, int], str] = {}
        self._walk: Walk | None = None

    async def take(self, asked: ApprovalQuestion) -> str | None:
        return self._approvals.pop(self._approval_key(asked), None)

    async def ask(self, asked: ApprovalQuestion) -> None:
        """Wait for an approval. Raises `PolicyRefused` if the person says no, and `NeedsPerson` without an answer."""
        self._approvals.clear()
        question = f"{asked.words}. Do not change the screen, and answer."
        walk = current_walk()
        assert walk is not None  # only a step of a walk asks for approval
        answer = await ask_person(question, walk, choices=(YES, NO), points=asked.points)
        if answer.choice != YES:
            raise PolicyRefused(f"{answer.by} said no: {answer.note or asked.words}.")
        self._walk = walk  # keep a reference, so that no other walk gets the same id()
        self._approvals[self._approval_key(asked)] = answer.by

    def _approval_key(self, asked: ApprovalQuestion) -> tuple[ApprovalQuestion, int, int]:
        walk = current_walk()
        return _without_presentation(asked), id(walk), walk.step if walk else 0


def _without_presentation(asked: ApprovalQuestion) -> ApprovalQuestion:
    """Return a request without its wording and picture: an approval is not bound to those."""
    return replace(asked, words="", picture="")
