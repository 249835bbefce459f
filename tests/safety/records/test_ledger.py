"""Finished work is not repeated for a business item, and work in progress is left to its worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from holo_tasks.core.errors import InvalidUsage, TokenConflict
from holo_tasks.core.input_digest import digest_of
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records import ledger as ledger_module
from holo_tasks.safety.records.ledger import Ledger
from tests.support import warm


@dataclass
class Total:
    amount: int
    note: str = field(compare=False)


def test_a_result_is_stored_for_its_inputs(tmp_path: Path) -> None:
    ledger = Ledger(store_at(tmp_path))
    assert ledger.find("R-1", "look up", "a") is None
    with ledger.claim("R-1", "look up") as claim:
        ledger.finish(claim, "a", '"first"', "trace")
        ledger.finish(claim, "a", '"second"', "trace")
    found = Ledger(store_at(tmp_path)).find("R-1", "look up", "a")
    assert found is not None
    assert found.result == '"first"'
    assert ledger.find("R-1", "flag", "a") is None
    with pytest.raises(TokenConflict):
        ledger.find("R-1", "look up", "b")


def test_two_claims_on_one_item_do_not_overlap(tmp_path: Path) -> None:
    ledger = Ledger(store_at(tmp_path))
    with ledger.claim("R-1", "flag"), ledger.claim("R-1", "look up"), ledger.claim("R-2", "flag"):
        refused = pytest.raises(InvalidUsage, match="another run")
        with refused, ledger.claim("R-1", "flag"):
            pass
    with ledger.claim("R-1", "flag"):
        pass


def test_the_claim_of_a_killed_process_is_free(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from holo_tasks.safety.records.ledger import Ledger\n"
        "from holo_tasks.safety.database.store import store_at\n"
        "with Ledger(store_at(Path(sys.argv[1]))).claim('R-1', 'flag'): print('claimed', flush=True); time.sleep(60)"
    )
    ledger = Ledger(store_at(tmp_path))
    with warm.ScriptPopen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(InvalidUsage), ledger.claim("R-1", "flag"):
            pass
        other.send_signal(signal.SIGKILL)
        other.wait()
    with ledger.claim("R-1", "flag"):
        pass


def test_a_hidden_process_does_not_count_as_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `/proc` mounted with ``hidepid`` hides non-dumpable processes, and those of other users."""
    living = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    before = Path.read_text
    holder = "|".join([ledger_module._machine(), str(living.pid), ledger_module._started(living.pid) or ""])
    assert not ledger_module._has_ended(holder)

    def hidden(path: Path, *given: str, **named: str) -> str:
        if path.parent == Path(f"/proc/{living.pid}"):
            raise FileNotFoundError(path)
        return before(path, *given, **named)

    monkeypatch.setattr(Path, "read_text", hidden)
    assert not ledger_module._has_ended(holder)
    living.communicate(b"\n")
    assert ledger_module._has_ended(holder)


def test_a_damaged_ledger_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "holo.db").write_bytes(b"not a database" * 100)
    with pytest.raises(InvalidUsage, match="database") as caught:
        Ledger(store_at(tmp_path)).find("R-1", "g", "a")
    assert "\n" not in str(caught.value)


def test_equal_inputs_have_equal_digests() -> None:
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1}) != digest_of({"a": 2, "b": [2]})
    assert digest_of({1: "a", "1": "b"}) == digest_of({"1": "b", 1: "a"}) != digest_of({1: "b", "1": "a"})
    assert digest_of(Total(5, note="seen")) == digest_of(Total(5, note="")) != digest_of(Total(6, note="seen"))


INPUTS = """
import datetime, decimal, enum, ipaddress, pathlib, uuid
from dataclasses import dataclass
from holo_tasks.core.input_digest import digest_of
from pydantic import BaseModel, SecretStr
class Colour(enum.Enum):
    RED = object()
@dataclass
class Point:
    names: set[str]
class Order(BaseModel):
    model_config = {"extra": "allow"}
    lines: frozenset[str]
    paid: datetime.date
names = {"a", "b", "c", "d", "e", "f"}
print(digest_of({
    "sets": [names, {frozenset(names), frozenset("xy")}, {(1, 2), (1, "2")}],
    "objects": [Colour.RED, Point(names), {Colour.RED: Point(names)}, names],
    "models": [Order(lines=names, paid="2026-10-05", more=names)],
    "words": [datetime.datetime(2026, 1, 2), datetime.timedelta(1), decimal.Decimal("1.50"), pathlib.Path("/x"),
              uuid.UUID(int=1), ipaddress.ip_address("::1"), b"raw", SecretStr("hidden")],
}))
"""


def test_the_digest_of_inputs_is_the_same_in_every_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", INPUTS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    ("value", "kind"), [(object(), "object"), (digest_of, "function"), (iter([1]), "list_iterator")]
)
def test_inputs_that_look_different_in_every_process_are_refused_by_name(value: object, kind: str) -> None:
    with pytest.raises(InvalidUsage, match=f"of type {kind} "):
        digest_of({"page": [value]})
