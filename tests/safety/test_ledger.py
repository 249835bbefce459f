"""What is done is done, by business item; what is being done is left to whoever does it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holo_tasks.core.errors import InvalidUsage, TokenConflict
from holo_tasks.outcome import digest_of
from holo_tasks.safety.ledger import Ledger
from holo_tasks.safety.store import store_at


def test_a_result_is_kept_for_its_inputs(tmp_path: Path) -> None:
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


def test_the_claim_of_a_killed_process_is_free_again(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from holo_tasks.safety.ledger import Ledger\n"
        "from holo_tasks.safety.store import store_at\n"
        "with Ledger(store_at(Path(sys.argv[1]))).claim('R-1', 'flag'): print('claimed', flush=True); time.sleep(60)"
    )
    ledger = Ledger(store_at(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(InvalidUsage), ledger.claim("R-1", "flag"):
            pass
        other.send_signal(signal.SIGKILL)
        other.wait()
    with ledger.claim("R-1", "flag"):
        pass


def test_a_damaged_ledger_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "holo.db").write_bytes(b"not a database" * 100)
    with pytest.raises(InvalidUsage, match="database") as caught:
        Ledger(store_at(tmp_path)).find("R-1", "g", "a")
    assert "\n" not in str(caught.value)


def test_equal_inputs_have_equal_digests() -> None:
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1}) != digest_of({"a": 2, "b": [2]})
