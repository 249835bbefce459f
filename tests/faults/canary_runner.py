"""A flow with secrets in all the places where they do not belong. `test_canaries` searches for leaks outside its
process.

Reads its parameters as JSON from stdin. The values of its secrets are in its environment, as HOLO_SECRET_NAME.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import Any

from prefect import flow, get_run_logger
from prefect.types import SecretDict
from pydantic import SecretStr

from holo_blocks import AuditBucket, HoloDesktop, HoloModel, holo_agent
from holo_tasks import DesktopFailed, SecretSpec, SubgoalOptions, agent_step, publish_table, pursue, subgoal

TOLD: dict[str, Any] = json.loads(sys.stdin.readline())


def secret(name: str) -> str:
    return os.environ[f"HOLO_SECRET_{name.upper()}"]


def mutate(kind: str) -> None:
    """Break one of the promises, as a careless change might."""
    if kind == "no scrubber":
        from holo_tasks.core.secrets.scrub import Scrubber

        Scrubber.may_hold = lambda self, text: False  # type: ignore[method-assign]
    if kind == "inherited":
        from holo_tasks.desktop import desktop

        desktop.for_ours = lambda ours, values=(): dict(ours)  # type: ignore[assignment]


@subgoal(title="Deal with {letter}", key="{token}")
async def deal_with(letter: str, token: str) -> str:
    """Process a letter that has a secret in its text."""
    answer: str = await pursue(
        f"Sign on, the password is {{{{secret:password}}}}. The letter says: {letter}",
        options=SubgoalOptions(secrets=("password", "note")),
    )
    return answer


@agent_step(acts=False, title="parse {text}", retries=0)
async def parse(text: str) -> None:
    """Fail with a chained error whose text contains a secret."""
    try:
        int(secret("error"))
    except ValueError as error:
        raise KeyError(f"no such entry: {text}") from error


@subgoal(title="Break down over {text}", key="{token}")
async def break_down(text: str, token: str) -> None:
    await parse(text)


@subgoal
async def start_what_fails() -> None:
    """Start a program that receives a secret in its environment, and prints it before it fails."""
    licence = secret("licence")
    broken = HoloDesktop(
        # Long enough to be seen in the process list, and without child processes that inherit the environment.
        app="sh -c 'echo expired: $LICENCE >&2; i=0; "
        "while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 3' given-the-licence",
        environment={"LICENCE": licence},
        secrets=SecretDict({"licence": licence}),
    )
    await broken.start()


@flow(name="canaries", persist_result=False)
async def canaries() -> None:
    bucket = AuditBucket(
        bucket=TOLD["bucket"],
        endpoint_url=TOLD["endpoint"],
        region="us-east-1",
        access_key_id=SecretStr(TOLD["access_key"]),
        secret_access_key=SecretStr(TOLD["secret_key"]),
    )
    async with holo_agent(
        f"letter {secret('letter')}",
        model=HoloModel(base_url=TOLD["model"], model="holo3-1-35b-a3b"),
        desktop=HoloDesktop(
            app=TOLD["app"],
            named_secrets=tuple(map(SecretSpec.parse, ("password", "letter", "note", "error", "licence"))),
        ),
        audit=bucket,
        allow="act",
    ) as run:
        run.answer = await deal_with(f"my code is {secret('letter')}, Zoë", "L-1")
        print("told:", run.answer, flush=True)
        get_run_logger().info("the letter was %r", {"text": secret("letter")})
        await publish_table("letters", [{"text": secret("letter")}], "what was read")
        with contextlib.suppress(Exception):
            await break_down(secret("error"), "E-1")
        with contextlib.suppress(DesktopFailed):
            await start_what_fails()
        get_run_logger().exception("gone wrong", exc_info=ValueError(secret("error")))
        raise RuntimeError(f"at the end: {secret('error')}")


if __name__ == "__main__":
    mutate(TOLD["mutant"])
    asyncio.run(canaries())
