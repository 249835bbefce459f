"""The client against misbehaving servers over real HTTP: a typed error or a correct reply, never a crash."""

from __future__ import annotations

import contextlib
import json
import socket
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from pydantic import SecretStr

from holo_tasks.core.errors import HoloError, InvalidUsage, ModelFailed, TransientModelFault
from holo_tasks.core.ports import Reply
from holo_tasks.machine import memory
from holo_tasks.models.client import RATE_LIMIT_PAUSE_S, ListedModel, ModelEndpoint
from tests.support.scripted_model import Answer, ScriptedModel, function_call

BODY = {"model": "m", "messages": [], "max_tokens": 100}


async def ask(
    answer: Answer | dict[str, Any], key: str | None = None, timeout_s: float = 10
) -> tuple[Reply, ScriptedModel]:
    said = answer if isinstance(answer, Answer) else Answer(body=json.dumps(answer).encode())
    with ScriptedModel([said]) as model:
        endpoint = ModelEndpoint(model.base_url, SecretStr(key) if key else None)
        try:
            return await endpoint.complete(BODY, timeout_s=timeout_s), model
        finally:
            await endpoint.close()


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"a": 1},
        {"choices": []},
        {"choices": None},
        {"choices": [None]},
        {"choices": "abc"},
        [],
        "text",
        None,
    ],
)
async def test_an_invalid_completion_is_a_typed_error(odd: Any) -> None:
    with pytest.raises(HoloError):
        await ask(Answer(body=json.dumps(odd).encode()))


async def test_the_server_receives_the_request_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}}
    told = [{"role": "user", "content": [picture, {"type": "text", "text": "½ ‘x’"}]}]
    body = {**BODY, "messages": told, "temperature": 0.0, "chat_template_kwargs": {"enable_thinking": False}}
    monkeypatch.setitem(globals(), "BODY", body)
    _, model = await ask(Answer("x"))
    assert model.requests == [body]


async def test_a_bill_without_a_message_counts() -> None:
    reply, _ = await ask({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
    assert reply.content == ""
    assert reply.usage is not None
    assert reply.usage.prompt_tokens == 7


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": "7"}, {"prompt_tokens": -1, "completion_tokens": 1}])
async def test_an_impossible_bill_is_ignored(usage: Any) -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x"}}
    reply, _ = await ask({"choices": [choice], "usage": usage})
    assert reply.usage is None
    reply, _ = await ask({"choices": [choice], "usage": {"prompt_tokens": 10**18, "completion_tokens": 1}})
    assert reply.usage is None


@pytest.mark.parametrize(
    ("message", "prompt", "completion"),
    [
        ({"content": "x"}, 0, 0),
        ({"content": ""}, 0, 0),
        ({"content": "x"}, 0, 5),
        ({"content": "x"}, 1000, 0),
        ({"content": None, "reasoning": "x"}, 1000, 0),
        ({"content": None, "tool_calls": [function_call("", "")]}, 1000, 0),
    ],
)
async def test_a_bill_without_prompt_or_completion_tokens_is_ignored(
    message: dict[str, Any], prompt: int, completion: int
) -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    reply, _ = await ask({"choices": [choice], "usage": usage})
    assert reply.usage is None


async def test_an_empty_completion_may_cost_nothing() -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ""}}
    reply, _ = await ask({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 0}})
    assert reply.usage is not None


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
async def test_reasoning_is_read_under_both_names(name: str) -> None:
    message = {"role": "assistant", "content": "x", name: "thinking hard"}
    reply, _ = await ask({"choices": [{"index": 0, "finish_reason": "stop", "message": message}]})
    assert reply.reasoning == "thinking hard"


async def test_nothing_from_the_environment_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "HAI_API_KEY"):
        monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Extra: canary")
    _, model = await ask(Answer("x"))
    assert "authorization" not in model.headers[0]
    assert "canary" not in str(model.headers[0])
    _, model = await ask(Answer("x"), key="mine")
    assert model.headers[0]["authorization"] == "Bearer mine"
    assert "canary" not in str(model.headers[0])


async def test_a_redirect_is_not_followed() -> None:
    with ScriptedModel([Answer("x")]) as elsewhere:
        with pytest.raises(ModelFailed):
            await ask(Answer(status=307, headers={"location": elsewhere.base_url + "/chat/completions"}, body=b""))
        assert elsewhere.requests == []


async def test_a_hung_server_times_out_and_may_be_billed() -> None:
    with pytest.raises(TransientModelFault) as caught:
        await ask(Answer("x", delay_s=3), timeout_s=0.3)
    assert caught.value.maybe_billed
    with pytest.raises(TransientModelFault) as caught:
        await ask(Answer(drop=True))
    assert caught.value.maybe_billed


async def test_memory_is_returned_during_a_slow_call(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    monkeypatch.setattr(memory, "return_free_memory", lambda: given.append("back"))
    monkeypatch.setattr(memory, "QUIET_S", 60)
    await ask(Answer("x"))
    assert given == []
    monkeypatch.setattr(memory, "QUIET_S", 0.01)
    await ask(Answer("x", delay_s=0.2))
    assert given == ["back"]


async def test_an_unreached_server_is_not_billed() -> None:
    endpoint = ModelEndpoint("http://127.0.0.1:9/v1", None)
    with pytest.raises(TransientModelFault) as caught:
        await endpoint.complete(BODY, timeout_s=5)
    await endpoint.close()
    assert not caught.value.maybe_billed


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"", "an empty answer"),
        (b" \n", "an empty answer"),
        (b'{"choices": [{"message"', 'not JSON (‘{"choices": [{"message"’)'),
        (b"\x00 \x1b[31m rubbish", "rubbish"),
        (b"<html>\n<h1>Bad gateway", "‘<html> <h1>Bad gateway’"),
        (b'{"error": {"message": "overloaded"}}', "overloaded"),
        (b"data: {}\n\ndata: [DONE]", "‘data: {} data: [DONE]’"),
        (b'{"choices": [{}]}', '‘{"choices": [{}]}’'),
        (b'{"choices": [{"message": null}]}', "without choices"),
        (b'{"choices": [{"text": "hello"}]}', "hello"),
        (b"the key is open-sesame.", "‘the key is ….’"),
        (b"x" * 100_000, "xx…’"),
    ],
    ids=lambda value: repr(value)[:30],
)
async def test_an_invalid_reply_is_transient_and_quoted_without_the_key(body: bytes, shown: str) -> None:
    with pytest.raises(TransientModelFault) as caught:
        await ask(Answer(body=body), key="open-sesame")
    assert caught.value.maybe_billed
    assert shown in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


SURELY_NOT_BEGUN = (400, 401, 402, 403, 404, 413, 422, 429)
MAYBE_DONE = (302, 408, 409, 425, 499, 500, 501, 502, 503, 504, 520, 522, 524, 529, 599)


@pytest.mark.parametrize("status", SURELY_NOT_BEGUN + MAYBE_DONE)
async def test_only_a_refusal_is_certainly_not_billed(status: int) -> None:
    with pytest.raises(HoloError) as caught:
        await ask(Answer(status=status, body=b"{}"))
    assert caught.value.http_status == status
    assert caught.value.maybe_billed == (status in MAYBE_DONE)


@pytest.mark.parametrize(
    "told",
    [
        {"error": {"message": "no JSON", "code": "json_validate_failed", "failed_generation": "{'a'"}},
        {"error": {"message": "cut", "usage": {"prompt_tokens": 10, "completion_tokens": 5}}},
        {"error": "cut", "usage": {"prompt_tokens": 10, "completion_tokens": 5}},
    ],
)
async def test_a_refusal_with_output_may_be_billed(told: dict[str, Any]) -> None:
    with pytest.raises(ModelFailed) as caught:
        await ask(Answer(status=400, body=json.dumps(told).encode()))
    assert caught.value.maybe_billed


async def test_a_server_that_loads_its_model_has_not_begun() -> None:
    error = {"code": 503, "message": "Loading model", "type": "unavailable_error"}
    with pytest.raises(TransientModelFault) as caught:
        await ask(Answer(status=503, body=json.dumps({"error": error}).encode()))
    assert not caught.value.maybe_billed
    error["message"] = "Slot unavailable"
    with pytest.raises(TransientModelFault) as caught:
        await ask(Answer(status=503, body=json.dumps({"error": error}).encode()))
    assert caught.value.maybe_billed


@pytest.mark.parametrize(
    ("told", "begun"),
    [
        (b'{"error": "Model Hcompany/Holo is currently loading", "estimated_time": 20.0}', False),
        (b'{"error": {"message": "The engine is currently overloaded, please try again later"}}', False),
        (b'{"error": {"message": "try later", "type": "service_overloaded"}}', False),
        (b'{"error": "server busy, please try again.  maximum pending requests exceeded"}', False),
        (b'{"object": "error", "message": "The request queue is full."}', False),
        (b"no healthy upstream", False),
        (b"no available server", False),
        (b'{"error": {"message": "overloaded", "usage": {"prompt_tokens": 9}}}', True),
        (b"upstream connect error or disconnect/reset before headers", True),
        (b"<html><h1>503 Service Temporarily Unavailable</h1></html>", True),
        (b"", True),
        (b"<html>" + b" " * 300 + b"The model was overloaded</html>", True),
    ],
)
async def test_a_503_for_load_is_not_billed(told: bytes, begun: bool) -> None:
    for headers in ({}, {"retry-after": "1"}):
        with pytest.raises(TransientModelFault) as caught:
            await ask(Answer(status=503, body=told, headers=headers))
        assert caught.value.maybe_billed == begun


async def test_a_server_without_a_connection_is_not_billed() -> None:
    with socket.socket() as deaf, contextlib.ExitStack() as waiting:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for _ in range(4):  # fill its queue, so that it accepts no more connections
            other = waiting.enter_context(socket.socket())
            other.setblocking(False)
            other.connect_ex(deaf.getsockname())
        endpoint = ModelEndpoint(f"http://127.0.0.1:{deaf.getsockname()[1]}/v1", None)
        with pytest.raises(TransientModelFault, match="Cannot reach") as caught:
            await endpoint.complete(BODY, timeout_s=1)
        await endpoint.close()
    assert not caught.value.maybe_billed


async def test_an_error_in_an_invalid_reply_may_be_billed() -> None:
    for told in (
        {"error": {"message": "gave up"}},
        {"error": "gave up", "choices": []},
        {"object": "error", "code": 500},
    ):
        with pytest.raises(TransientModelFault) as caught:
            await ask(told)
        assert caught.value.maybe_billed
    with pytest.raises(ModelFailed) as caught:
        await ask(Answer(body=b""))
    assert caught.value.maybe_billed


async def test_a_truncated_answer_may_be_billed() -> None:
    with pytest.raises(TransientModelFault) as caught:
        await ask(Answer(body=b'{"choices": [', headers={"content-length": "100"}))
    assert caught.value.maybe_billed


@pytest.mark.parametrize("body", [b"{}", b"<html>", b'{"choices": []}', b"null", b'{"choices":' + b"[" * 100_000])
async def test_an_invalid_reply_may_be_billed(body: bytes) -> None:
    with pytest.raises(ModelFailed) as caught:
        await ask(Answer(body=body))
    assert caught.value.maybe_billed


async def test_retry_after_with_a_date_is_parsed() -> None:
    for offset_s, least, most in ((30, 15, 30), (-30, 0, 0), (10**7, 3600, 3600)):
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=offset_s), usegmt=True)
        with pytest.raises(TransientModelFault) as caught:
            await ask(Answer(status=503, headers={"retry-after": date}, body=b"{}"))
        assert caught.value.retry_after_s is not None
        assert least <= caught.value.retry_after_s <= most


@pytest.mark.parametrize(
    ("said", "wait_s"),
    [("30", 30), ("0.5", 0.5), ("86400", 3600), ("inf", 3600), ("-1", None), ("nan", None), ("soon", None), ("", None)],
)
async def test_retry_after_in_seconds_is_parsed(said: str, wait_s: float | None) -> None:
    with pytest.raises(TransientModelFault) as caught:
        await ask(Answer(status=503, headers={"retry-after": said}, body=b"{}"))
    assert caught.value.retry_after_s == wait_s


async def test_four_default_rests_after_a_429_last_a_minute() -> None:
    for headers, wait_s in (
        ({}, RATE_LIMIT_PAUSE_S),
        ({"retry-after": "soon"}, RATE_LIMIT_PAUSE_S),
        ({"retry-after": "2"}, 2),
    ):
        with pytest.raises(TransientModelFault) as caught:
            await ask(Answer(status=429, headers=headers, body=b"{}"))
        assert caught.value.retry_after_s == wait_s
    assert 4 * RATE_LIMIT_PAUSE_S >= 60


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("2027-03-31", date(2027, 3, 31)),
        ("2027-03-31T12:00:00Z", date(2027, 3, 31)),
        (1806451200, date(2027, 3, 31)),
        (None, None),
        (0, None),
        (True, None),
        ("soon", None),
        (1e300, None),
        ([], None),
    ],
)
async def test_the_date_of_a_deprecation_is_parsed(told: object, found: date | None) -> None:
    with ScriptedModel([], models=[{"id": "m", "deprecation_date": told, "root": "maker/m"}]) as model:
        endpoint = ModelEndpoint(model.base_url, None)
        assert await endpoint.models(timeout_s=10) == (ListedModel("m", "maker/m", found),)
        await endpoint.close()


async def test_an_endlessly_nested_model_list_counts_as_missing() -> None:
    with ScriptedModel([], models=Answer(body=b'{"data":' + b"[" * 100_000)) as model:
        endpoint = ModelEndpoint(model.base_url, None)
        assert await endpoint.models(timeout_s=10) is None
        await endpoint.close()


async def test_a_servers_text_can_be_stored() -> None:
    reply, _ = await ask(Answer(body=b'{"choices": [{"finish_reason": "\\ud800", "message": {"content": "x"}}]}'))
    assert reply.finish_reason.encode()
    for status in (400, 503):
        with pytest.raises(ModelFailed) as caught:
            await ask(Answer(status=status, body=b'{"error": {"message": "\\ud800 is wrong"}}'))
        assert "is wrong" in str(caught.value)
        assert str(caught.value).encode()


async def test_a_key_is_sent_without_surrounding_spaces() -> None:
    _, model = await ask(Answer("x"), key=" mine\n")
    assert model.headers[0]["authorization"] == "Bearer mine"
    _, model = await ask(Answer("x"), key=" \n")
    assert "authorization" not in model.headers[0]


@pytest.mark.parametrize("key", ["cl\u00e9", "one\ntwo", "\x00"])
def test_an_invalid_key_is_refused_and_not_quoted(key: str) -> None:
    with pytest.raises(InvalidUsage, match="key") as caught:
        ModelEndpoint("http://127.0.0.1:9/v1", SecretStr(key))
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["http://a\x01b/v1", "http://\u2603.net/v1", "http://[v1.x]/v1", "http://h/" + "a" * 65_530, "http://-a.\u00e9/"],
)
def test_invalid_base_urls_are_refused(url: str) -> None:
    with pytest.raises(InvalidUsage, match="is not a base URL") as caught:
        ModelEndpoint(url, None)
    assert len(str(caught.value)) < 300


def refusal(status: int, message: str, code: str = "") -> Answer:
    return Answer(status=status, body=json.dumps({"error": {"message": message, "code": code or None}}).encode())


@pytest.mark.parametrize(
    ("status", "message", "advice"),
    [
        (400, "At most 1 image(s) may be provided in one request.", "set image_budget = 1"),
        (400, "You set image=1 (or defaulted to 1) in `--limit-mm-per-prompt`, but found 3", "set image_budget = 1"),
        (400, "no more than 1 image(s) a request", "set image_budget = 1"),
        (400, "This model's maximum context length is 32768 tokens.", "set context_tokens"),
        (400, "the request exceeds the available context size", "set context_tokens"),
        (400, '"m" does not support thinking', 'reasoning_effort = "default"'),
        (400, "unknown value for reasoning_effort: medium", 'reasoning_effort = "default"'),
        (400, "image input is not supported", "serve it with its image encoder"),
        (400, "unknown field structured_outputs", "set another schema_transport"),
    ],
)
async def test_a_refusal_names_the_field_to_set(status: int, message: str, advice: str) -> None:
    with pytest.raises(ModelFailed, match=advice) as caught:
        await ask(refusal(status, message))
    assert not caught.value.transient


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (429, "You exceeded your current quota, please check your plan", "insufficient_quota"),
        (429, "Your credit balance is too low", ""),
        (402, "Payment required", ""),
    ],
)
async def test_an_account_without_money_is_not_asked_again(status: int, message: str, code: str) -> None:
    with pytest.raises(InvalidUsage, match="has no money left") as caught:
        await ask(refusal(status, message, code), key="secret-key")
    assert not caught.value.transient
    with pytest.raises(TransientModelFault):
        await ask(refusal(429, "Rate limit reached for requests", "rate_limit_exceeded"))


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("ALL_PROXY", "socks4://127.0.0.1:1080", "'socks4': use http://"),
        ("https_proxy", "socks://127.0.0.1:1080", "https_proxy names a proxy of the kind 'socks'"),
        ("SSL_CERT_FILE", "/nowhere/cacert.pem", "SSL_CERT_FILE names /nowhere/cacert.pem, which does not exist"),
    ],
)
def test_a_variable_that_prevents_every_client_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidUsage, match=says):
        ModelEndpoint("http://127.0.0.1:9/v1", None)
    monkeypatch.setenv(name, "" if name == "SSL_CERT_FILE" else "http://127.0.0.1:3128")
    ModelEndpoint("http://127.0.0.1:9/v1", None)
