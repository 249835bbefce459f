"""A short form of `make fuzz` for each `make test`: all samples, all inputs that once showed a defect, and some
mutations.

The harness itself must find planted defects of every kind.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.fuzz import Campaign
from tests.fuzz.targets import MODULES, names_in
from tests.support.long import few


def test_targets_raise_only_documented_errors(tmp_path: Path) -> None:
    """All targets run in one process, which loads shared modules once. After an input that kills it, another process
    continues.
    """
    names = [name for module in MODULES for name in names_in(module)]
    campaign = Campaign(output=tmp_path)
    campaign.child(names, seconds=60, quick=True, leaks=False)
    print(campaign.table())
    assert campaign.crashes == {}
    assert set(campaign.figures) == set(names)
    assert all(one.inputs for one in campaign.figures.values())


def test_planted_defects_are_found_and_stored_with_the_command_to_reproduce_them(tmp_path: Path) -> None:
    campaign = Campaign(output=tmp_path)
    for target in ("raises", "fine", "hoards", "dies"):
        campaign.child([target], seconds=60, quick=True, leaks=False)
    found = {name.rpartition("-")[0] for name in campaign.crashes}
    assert (
        {"raises-KeyError", "hoards-MemoryError", "dies-Killed6"}
        <= found
        <= {"raises-KeyError", "raises-Defect", "hoards-MemoryError", "dies-Killed6"}
    )
    (kept,) = (path for path in tmp_path.glob("raises-KeyError-*") if not path.suffix)
    assert kept.read_bytes()[:1] == b"g"
    assert f"--again {kept}" in kept.with_name(f"{kept.name}.txt").read_text()
    assert "KeyError" in Campaign(output=tmp_path / "again").again("raises", kept)


@pytest.mark.parametrize(
    ("target", "what"),
    few([("sleeps", "Hang"), ("keeps", "Leak"), ("computes", "TooSlow"), ("deaf", "Killed24")], 2),
)
def test_hangs_leaks_and_slow_inputs_are_defects(target: str, what: str, tmp_path: Path) -> None:
    campaign = Campaign(output=tmp_path, wall_s=3 if target == "sleeps" else 60)
    campaign.child([target], seconds=1, quick=True, leaks=target == "keeps")
    assert {name.split("-")[1] for name in campaign.crashes} == {what}
