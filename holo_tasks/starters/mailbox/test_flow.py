"""The flow finds the receipts that differ from the ledger, and flags each once."""

import asyncio
import json
from pathlib import Path

from flow import audit_receipts


def test_flag_only_the_receipt_that_differs(folder: Path) -> None:
    findings = asyncio.run(audit_receipts())
    assert findings == {
        "TX-10482": "agrees with the ledger",
        "TX-10716": "flagged: the ledger says EUR 381.60",
        "TX-19357": "not in the ledger",
    }
    assert json.loads((folder / "records.json").read_text()) == {"TX-10716": "receipt says 318.60"}
    assert (folder / "report.html").stat().st_size > 10_000
