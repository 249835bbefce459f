"""Print an audit in a terminal: a progress bar, a line for each receipt, and a table at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from holo_tasks import Run, usd
from receipts.finding import Finding, mean_costs
from receipts.receipt import Receipt

COLORS = {"match": "green", "flagged": "yellow"}
COLUMNS = {
    "Receipt": "left",
    "Merchant": "left",
    "Reference": "left",
    "Receipt says": "right",
    "Ledger says": "right",
    "Status": "left",
    "Flag": "left",
    "By": "left",
    "Cost": "right",
}


@dataclass
class Bar:
    """The progress bar of an audit. ``steps`` and ``spent_micro`` are those of the run before the present receipt."""

    run: Run
    progress: Progress
    task: TaskID
    steps: int = 0
    spent_micro: int = 0

    def begin(self, receipt: Receipt) -> None:
        """Show the receipt that is being audited."""
        self.steps, self.spent_micro = self.run.steps, self.run.guard.spent_micro
        self.progress.update(self.task, description=escape(receipt.merchant or receipt.subject))

    def end(self, finding: Finding, *, done: bool) -> str:
        """Advance the bar, and print the finding with its steps and cost. Return the steps and the cost as text.

        ``done`` says that an earlier audit finished the receipt.
        """
        steps, spent = self.run.steps - self.steps, self.run.guard.spent_micro - self.spent_micro
        effort = "already done" if done else f"{steps} steps, {usd(spent)}"
        self.progress.advance(self.task)
        self.progress.console.print(_line(finding, effort), highlight=False)
        return effort


class AuditConsole:
    """Prints to standard error, because standard output is for results."""

    def __init__(self) -> None:
        self._console, self._started = Console(stderr=True), datetime.now(UTC)
        if not self._console.is_terminal:
            self._console.width = 150

    @contextmanager
    def bar(self, run: Run, total: int) -> Iterator[Bar]:
        """Show a progress bar while receipts are audited."""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console, transient=True) as progress:
            yield Bar(run, progress, progress.add_task("receipts", total=total))

    def summary(self, findings: Sequence[Finding], run: Run, layers: str, sheet: Path, page: Path | None) -> None:
        """Print all findings with their layers and costs, and the places of the results."""
        seconds = (datetime.now(UTC) - self._started).total_seconds()
        self._console.print(_table(findings))
        if layers:
            self._say(f"layers that answered the sub-goals: {layers}")
        for kind, who, count, micro in mean_costs(findings):
            self._say(f"a receipt {kind}: {usd(micro)} {who} (mean of {count})")
        self._say(f"{run.steps} steps in {seconds:.0f} s, model cost {usd(run.guard.total_micro)}")
        self._say(f"workbook  {sheet}\nevidence  {run.trace}")
        if page:
            self._say(f"report    {page}")

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False)


def _line(finding: Finding, effort: str) -> str:
    receipt = finding.receipt
    color = COLORS.get(finding.status.split(":")[0], "red")
    amount = "" if receipt.amount is None else f"{receipt.currency} {receipt.amount:,.2f}"
    name, status = escape(f"{(receipt.merchant or receipt.subject)[:26]:<26}"), escape(f"{finding.status:<27}")
    return f"  {receipt.short_id}  {name} {amount:>13}  [{color}]{status}[/]  [dim]{effort}[/]"


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(title="Expense audit")
    for name, side in COLUMNS.items():
        table.add_column(name, justify=side, no_wrap=name in ("By", "Cost"))  # type: ignore[arg-type]
    for finding in findings:
        receipt = finding.receipt
        table.add_row(
            receipt.short_id,
            escape(receipt.merchant or "–"),
            receipt.reference or "–",
            "–" if receipt.amount is None else f"{receipt.amount:,.2f} {receipt.currency}",
            "–" if finding.ledger_amount is None else f"{finding.ledger_amount:,.2f}",
            escape(finding.status),
            finding.flag,
            finding.by or "–",
            "–" if finding.cost_micro is None else usd(finding.cost_micro),
        )
    return table
