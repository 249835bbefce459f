"""Run failed tests once more, alone on an idle machine: ``python -m tests.support.second_go``.

A test that passes now is reported as unsteady, which is an open fault of the test or of the product. It does not fail
the test run. More than `MOST` failures are not run again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
MOST = 3
PASSED, FAILED = 0, 1


def main(last_failed: Path = LAST_FAILED, passes: Callable[[str], bool] | None = None) -> int:
    """Return 0 if all tests that failed pass now."""
    try:
        failed = sorted(json.loads(last_failed.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        failed = []
    if not 0 < len(failed) <= MOST:
        return FAILED
    print(f"\nOnce more, by {'itself' if len(failed) == 1 else 'themselves'}: {', '.join(failed)}", flush=True)
    again = [test for test in failed if not (passes or _passes)(test)]
    for test in failed:
        verdict = "FAILED TWICE" if test in again else "UNSTEADY: failed among the others, passed alone; see why"
        print(f"{verdict}: {test}", flush=True)
    return FAILED if again else PASSED


def _passes(test: str) -> bool:
    done = subprocess.run([sys.executable, "-m", "pytest", "-m", "long or not long", test], check=False)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
