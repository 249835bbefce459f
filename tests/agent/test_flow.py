"""`@flow` names its runs readably, records no secrets, and logs expected errors as one line."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest
from prefect import get_client
from prefect.context import get_run_context

from holo_tasks import BusinessFailure, flow
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.safety.scrubbing import secrets_registered

LOG = "prefect.flow_runs"


@pytest.fixture
def records() -> Iterator[list[logging.LogRecord]]:
    """The records of Prefect's log of flow runs that pass its filters."""
    found: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record)

    handler = Keep()
    logging.getLogger(LOG).addHandler(handler)
    yield found
    logging.getLogger(LOG).removeHandler(handler)


@flow(flow_run_name="{goal}", persist_result=False)
async def named(goal: str) -> tuple[str, str]:
    """Return the id of this flow run, and the goal that the function got."""
    return str(get_run_context().flow_run.id), goal


@pytest.mark.parametrize(
    ("goal", "name"),
    [
        ("Read the list", "Read the list"),
        ("Read\nthe\u200b list", "Read the list"),
        ("Read {goal.__class__}", "Read {goal.__class__}"),
        ("x" * 500, "x" * 119 + "…"),
        ("Type correct-horse", "Type {{secret:password}}"),
    ],
)
async def test_a_run_is_named_by_its_arguments_in_one_line_without_secrets(prefect: str, goal: str, name: str) -> None:
    with secrets_registered(Scrubber([Secret(name="password", value="correct-horse")])):
        run_id, given = await named(goal)
        async with get_client() as client:
            run = await client.read_flow_run(run_id)  # type: ignore[arg-type]
    assert run.name == name
    assert given == goal
    assert "correct-horse" not in str(run.parameters)


async def test_an_expected_error_is_one_line_in_the_log_and_another_keeps_its_traceback(
    prefect: str, records: list[logging.LogRecord]
) -> None:
    @flow
    async def expected() -> None:
        raise BusinessFailure("The account is closed.")

    @flow
    async def unexpected() -> None:
        raise KeyError("account")

    for failing in (expected, unexpected):
        with pytest.raises((BusinessFailure, KeyError)):
            await failing()
    said = [record for record in records if record.levelno >= logging.ERROR]
    assert "invalid: The account is closed." in [record.getMessage() for record in said if not record.exc_info]
    assert [record.exc_info[0] for record in said if record.exc_info] == [KeyError]


def test_options_of_prefect_reach_the_flow_and_with_options_keeps_the_name_clean() -> None:
    @flow(name="Nightly", flow_run_name="{goal}", retries=2)
    def nightly(goal: str) -> str:
        return goal

    assert (nightly.name, nightly.retries) == ("Nightly", 2)
    for again in (nightly.with_options(retries=3), nightly.with_options(retries=3, flow_run_name="{goal}!")):
        assert again.retries == 3
        assert isinstance(again.flow_run_name, str)
        assert again.flow_run_name.format(goal="a\nb").rstrip("!") == "a b"
        assert type(again) is type(nightly)


INSTALLED = """
import logging, sys
from holo_tasks import {name}
log = logging.getLogger("prefect.flow_runs")
before = list(log.filters), sys.excepthook
made = {use}
after = list(log.filters), sys.excepthook
print(len(before[0]), len(after[0]), before[1] is sys.__excepthook__, after[1] is before[1])
"""


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("flow", "flow(lambda: None)"),
        ("subgoal", "subgoal(key='{a}')"),
        ("step", "step(key='{a}')"),
        ("cost_guardrail", "cost_guardrail(max_actions=1)"),
    ],
)
def test_the_first_decorator_shortens_errors_and_an_import_does_not(name: str, use: str) -> None:
    code = INSTALLED.replace("{name}", name).replace("{use}", use)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["0", "1", "True", "False"], done.stderr
