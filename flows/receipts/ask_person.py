"""Ask a person to read a receipt that cannot be read, and use the note that the person writes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from holo_tasks import InvalidUsage, NeedsPerson, hand_over
from receipts.note import EXAMPLE, completed
from receipts.receipt import Receipt

IN_THE_NOTE, LEAVE_OUT = "it is in the note", "leave it out"


class Reading(BaseModel):
    """The answer of a person about an unreadable receipt. ``receipt`` is ``None`` if it is to be left out."""

    model_config = ConfigDict(frozen=True)

    receipt: Receipt | None
    by: str


async def read_by_person(receipt: Receipt) -> Reading:
    """Return a person's reading of a receipt.

    A note that cannot be used is asked for once more. After that, raises `NeedsPerson`.
    """
    # The first problem is about the letter, and the last ones are about missing values. The others are left out.
    problems = dict.fromkeys((*receipt.problems[:1], *receipt.problems[-3:]))
    why = "; ".join(problems) or "it names no transaction, or no amount"
    why = f"The receipt {receipt.short_id}, ‘{receipt.subject}’, cannot be read: {why}."
    for _ in range(2):
        answer = await hand_over(
            f"{why} Look at the original, or ask its sender. Then write its contents in the note, as in ‘{EXAMPLE}’, "
            f"or choose ‘{LEAVE_OUT}’.",
            choices=(IN_THE_NOTE, LEAVE_OUT),
            picture=False,
        )
        if answer.choice == LEAVE_OUT:
            return Reading(receipt=None, by=answer.by)
        try:
            return Reading(receipt=completed(receipt, answer.note), by=answer.by)
        except InvalidUsage as error:
            why = f"The note for receipt {receipt.short_id}, ‘{receipt.subject}’, cannot be used. {error}"
    raise NeedsPerson(why)
