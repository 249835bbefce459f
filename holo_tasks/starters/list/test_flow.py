"""The flow reads the figures off the program's screen."""

import asyncio
from pathlib import Path

from flow import count_stock


def test_count_each_article_once(folder: Path) -> None:
    assert asyncio.run(count_stock(["A-100", "A-200"])) == {"A-100": 12, "A-200": 0}
    assert asyncio.run(count_stock(["A-200", "B-310"])) == {"A-200": 0, "B-310": 48}
    assert (folder / "report.html").stat().st_size > 10_000
    assert len(list((folder / "evidence").iterdir())) == 2
