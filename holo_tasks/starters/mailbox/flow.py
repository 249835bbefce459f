"""Audit the receipts of a mailbox against a desktop program that has no API, and flag those that differ."""

import asyncio
import re
from decimal import Decimal

from pydantic import BaseModel

import blocks
from holo_blocks import HoloMailbox, HoloModel, holo_agent, local_prefect, rehearsal_model
from holo_tasks import NOT_DONE, Effect, Hooks, Limits, NotDone, StepTaken, flow, named_file, pursue, subgoal
from holo_tasks.audit import write_report
from holo_tasks.office import Letter

MAILBOX = HoloMailbox(maildir=str(blocks.HERE / "mailbox"))  # or host=, user= and password= of an IMAP account

LIMITS = Limits(max_cost_usd=0.50)


class Receipt(BaseModel):
    merchant: str
    reference: str
    total: Decimal


class Record(BaseModel):
    found: bool
    amount: Decimal | None
    status: str | None


class Flagged(BaseModel):
    flagged: bool


def receipt_in(letter: Letter) -> Receipt | None:
    """Return the receipt in a letter, or ``None`` if the letter is not a receipt."""
    found = [re.search(rf"{label}: *(\S.*)", letter.text) for label in ("Merchant", "Transaction", "Total")]
    merchant, reference, total = (match[1].strip() if match else "" for match in found)
    if not (merchant and reference and total):
        return None
    return Receipt(merchant=merchant, reference=reference, total=Decimal(total.removeprefix("EUR ").replace(",", "")))


async def read_record(reference: str) -> Record:
    """Read a transaction on the screen."""
    record: Record = await pursue("Read the transaction whose reference the data names.", returns=Record)
    return record


# The key names the business item: work that is finished under a key is not repeated. With effect=None it may be.
@subgoal(key="{reference}", title="Look up {reference}", data=["reference"], effect=None, limits=Limits(max_actions=20))
async def look_up(reference: str) -> Record:
    """Look one transaction up."""
    return await read_record(reference)


async def flag_on_file(reference: str, remark: str) -> Flagged | NotDone:
    """Look whether an interrupted attempt saved the flag. Only then is it not repeated."""
    record = await read_record(reference)
    return Flagged(flagged=True) if record.status == "flagged" else NOT_DONE


@subgoal(key="{reference}", title="Flag {reference}", data=["reference", "remark"], effect=Effect(probe=flag_on_file))
async def flag(reference: str, remark: str) -> Flagged:
    """Flag a transaction for review. It is the only change that this flow makes."""
    flagged: Flagged = await pursue("Flag the transaction that the data names, with the remark there.", returns=Flagged)
    return flagged


async def audited(receipt: Receipt) -> str:
    """Audit one receipt and return the finding."""
    record = await look_up(receipt.reference)
    if not record.found:
        return "not in the ledger"
    if record.amount == receipt.total:
        return "agrees with the ledger"
    await flag(receipt.reference, f"receipt says {receipt.total}")
    return f"flagged: the ledger says EUR {record.amount}"


def print_step(step: StepTaken) -> None:
    """Print an action of the agent."""
    print(f"  {step.action}", flush=True)


@flow
async def audit_receipts(name: str = blocks.NAME) -> dict[str, str]:
    """Audit all receipts. ``name`` is the name of the blocks."""
    findings: dict[str, str] = {}
    receipts = [receipt for letter in await MAILBOX.letters() if (receipt := receipt_in(letter))]
    agent = holo_agent(
        "Audit receipts",
        model=name,
        desktop=name,
        audit=name,
        allow="act",
        limits=LIMITS,
        hooks=Hooks(on_step=print_step),
    )
    async with agent as run:
        for receipt in receipts:
            findings[receipt.reference] = await audited(receipt)
            print(f"{receipt.merchant}, EUR {receipt.total}: {findings[receipt.reference]}", flush=True)
    report = named_file("report.html", ".html")
    if run.steps or not report.exists():
        write_report(run.trace, report)
    return findings


if __name__ == "__main__":
    with local_prefect(), rehearsal_model(blocks.HERE / "playbook.yaml") as rehearsal:
        blocks.save(HoloModel.from_environment() or rehearsal)
        asyncio.run(audit_receipts())
