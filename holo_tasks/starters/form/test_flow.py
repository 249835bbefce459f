"""The flow enters each order of the file once."""

import asyncio
import csv
import json
from pathlib import Path

from flow import ORDERS, enter_orders


def test_enter_each_order_once(folder: Path) -> None:
    assert asyncio.run(enter_orders()) == 3
    assert asyncio.run(enter_orders()) == 3
    with ORDERS.open(encoding="utf-8", newline="") as file:
        assert json.loads((folder / "records.json").read_text()) == list(csv.DictReader(file))
    assert (folder / "report.html").stat().st_size > 10_000
