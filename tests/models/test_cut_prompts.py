"""A server that cuts long prompts short without an error is noticed by its bills, over real HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holo_tasks.models.client import ModelEndpoint
from tests.support.scripted_model import Answer, ScriptedModel

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}}


def request(task: str, text_bytes: int, images: int = 1) -> dict[str, Any]:
    """Return a conversation about a task with this much text after it."""
    history = [{"role": "user", "content": [PICTURE, {"type": "text", "text": "seen"}]} for _ in range(images)]
    first = [{"role": "system", "content": "You use a computer."}, {"role": "user", "content": task}]
    return {
        "model": "m",
        "max_tokens": 100,
        "messages": [*first, *history, {"role": "user", "content": "a" * text_bytes}],
    }


async def warnings(bills: list[tuple[dict[str, Any], int]], caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings after these requests, each with the prompt tokens that the server counts for it."""
    message = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    answers = [
        Answer(body=json.dumps({**message, "usage": {"prompt_tokens": tokens, "completion_tokens": 1}}).encode())
        for _, tokens in bills
    ]
    with ScriptedModel(answers) as model:
        endpoint = ModelEndpoint(model.base_url, None)
        for body, _ in bills:
            await endpoint.complete(body, timeout_s=10)
        await endpoint.close()
    return [record.getMessage() for record in caplog.records if record.name == "holo_tasks"]


async def test_a_prompt_that_grows_in_small_steps_without_a_larger_bill_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bills = [(request("pay", 9_000 + 700 * step), 4_090 - step) for step in range(8)]
    (warning,) = await warnings(bills, caplog)
    assert "2100 bytes longer" in warning
    assert "OLLAMA_CONTEXT_LENGTH" in warning


@pytest.mark.parametrize(
    "bills",
    [
        pytest.param([(request("pay", 700 * n), 1_000 + 90 * n) for n in range(20)], id="each bill is larger"),
        pytest.param([(request("pay", 900), 4_000), (request("book", 9_000), 3_000)], id="another conversation"),
        pytest.param([(request("pay", 900, 3), 6_000), (request("pay", 9_000, 2), 5_900)], id="a picture was left out"),
        pytest.param([(request("pay", 9_000), 3_000), (request("pay", 900), 900)], id="a shorter prompt"),
    ],
)
async def test_a_server_that_reads_whole_prompts_is_not_reported(
    bills: list[tuple[dict[str, Any], int]], caplog: pytest.LogCaptureFixture
) -> None:
    assert await warnings(bills, caplog) == []
