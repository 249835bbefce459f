"""Replies of models and responses of model servers."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import socket
import threading
from typing import Any

from hypothesis import strategies as st

from holo_tasks.core.errors import HoloError, UnusableReply
from holo_tasks.core.ports import Reply, ToolRequest
from holo_tasks.core.prompts.call_to_gesture import to_gesture
from holo_tasks.core.prompts.json_object import parse_json_object
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.toolbox import read_point
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Size
from holo_tasks.models.client import BUSY_TEXT, REFUSED_STATUS, ModelEndpoint
from holo_tasks.models.dialects import dialect_for
from holo_tasks.models.profile import profile_for, shipped_profiles
from tests.fuzz.target import Target, check

SHOT = Shot(b"", "image/jpeg", "0" * 64, Size(1280, 800), Size(1280, 800), "")
STEPS: tuple[dict[str, Any], ...] = (
    {"note": None, "thought": "I see.", "tool_call": {"tool_name": "click", "element": "OK", "x": 500, "y": 250}},
    {
        "note": "n",
        "thought": "t",
        "tool_call": {"tool_name": "write", "content": "Zoë\n", "overwrite": True, "press_enter": True},
    },
    {
        "note": None,
        "thought": "t",
        "tool_call": {"tool_name": "scroll", "element": "e", "x": 1, "y": 1, "direction": "down", "scroll_size": 3},
    },
    {"note": None, "thought": "t", "tool_call": {"tool_name": "hotkey", "keys": ["ctrl", "s"]}},
    {
        "note": None,
        "thought": "t",
        "tool_call": {"tool_name": "drag_and_drop", "element": "e", "x1": 1, "y1": 2, "x2": 3, "y2": 4},
    },
    {"note": None, "thought": "t", "tool_call": {"tool_name": "wait", "seconds": 1.5}},
    {"note": None, "thought": "t", "tool_call": {"tool_name": "answer", "content": "42"}},
    {
        "action": "click",
        "element_type": "button",
        "x": 0.5,
        "y": 0.25,
        "text": None,
        "confidence": 0.9,
        "reasoning": "r",
    },
    {
        "action": "scroll",
        "element_type": "other",
        "x": 0.5,
        "y": 0.25,
        "text": "down3",
        "confidence": 1,
        "reasoning": "r",
    },
    {"element": "OK", "x": 500, "y": 250},
    {"keys": ["ctrl", "a"]},
)
NAMES = ("click", "write", "hotkey", "answer", "scroll", "wait", "click_desktop", "drag_and_drop", "x", "")


@functools.cache
def _dialects() -> list[Any]:
    # One per dialect and set of tool names.
    kinds = {
        (name, str(profile.tool_names), profile.coordinates): dialect_for(profile, name)
        for profile in shipped_profiles().values()
        for name in profile.dialects
    }
    return list(kinds.values())


def _replies(data: bytes) -> object:
    """The first line is a function name. The rest is read in every dialect, as content and as arguments."""
    name, _, rest = data.decode("utf-8", "replace").partition("\n")
    came = []
    for dialect in _dialects():
        for reply in (
            Reply(rest, "stop", None, reasoning=name),
            Reply(name, "tool_calls", None, tool_calls=(ToolRequest("c1", name, rest), ToolRequest(name, rest, name))),
        ):
            for answer_only in (False, True):
                try:
                    step = dialect.parse(reply, answer_only=answer_only)
                    came.append(_carried_out(step))
                except UnusableReply as error:
                    str(error).encode()
                    error.correction.encode()
                    came.append("unusable")
    return sorted(set(came))


def _carried_out(step: Step) -> str:
    """Perform everything with a step up to the input itself."""
    check(Step.model_validate_json(step.model_dump_json()) == step, "a step changes when it is written and read")
    gesture = to_gesture(step.tool_call, SHOT)
    for name in ("at", "to", "start", "end"):
        if (place := getattr(gesture, name, None)) is not None:
            check(0 <= place.x < 1280 and 0 <= place.y < 800, "a point is outside the screen")
    return step.tool_call.tool_name


def _json() -> st.SearchStrategy[Any]:
    plain = st.none() | st.booleans() | st.integers(-5, 1005) | st.floats() | st.text(max_size=8) | st.integers()
    return st.recursive(
        plain,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
        max_leaves=8,
    )


def _some_step() -> st.SearchStrategy[bytes]:
    """A step with some fields changed, missing or duplicated."""

    def bent(step: dict[str, Any], changes: list[tuple[int, Any]]) -> Any:
        step = json.loads(json.dumps(step))
        for at, value in changes:
            inner = step.get("tool_call")
            places = [(step, name) for name in step]
            places += [(inner, name) for name in inner] if isinstance(inner, dict) else []
            part, name = places[at % len(places)]
            part[name] = value
        return step

    step = st.builds(bent, st.sampled_from(STEPS), st.lists(st.tuples(st.integers(0, 20), _json()), max_size=3))
    written = st.one_of(step, _json()).map(lambda value: json.dumps(value))
    around = st.sampled_from(["{}", "```json\n{}\n```", "<think>x</think>{}", "{}{}", " {}\n", '{{"a":1,"a":{}}}'])
    return st.builds(
        lambda name, frame, text: f"{name}\n{frame.replace('{}', text)}".encode("utf-8", "surrogatepass"),
        st.sampled_from(NAMES),
        around,
        written,
    )


def _answers(data: bytes) -> object:
    """Parse replies to single questions."""
    text = data.decode("utf-8", "replace")
    value = parse_json_object(text)
    check(isinstance(value, dict), "a reply that is not an object was accepted")
    json.dumps(value, ensure_ascii=False).encode()
    try:
        x, y = read_point(value, profile_for("holo3-1-35b-a3b").coordinates)
        check(0 <= x <= 1000 and 0 <= y <= 1000, "a point is outside the picture")
    except UnusableReply:
        return "no point"
    return "point"


COMPLETION = (
    b'{"id":"c","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":'
    b'{"role":"assistant","content":"Zo\\u00eb","reasoning_content":"r","tool_calls":[{"id":"1","type":"function","function":'
    b'{"name":"click","arguments":"{}"}}]}}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,'
    b'"prompt_tokens_details":{"cached_tokens":3}}}'
)
LIST = b'{"object":"list","data":[{"id":"m","object":"model","created":0,"owned_by":"x"}]}'


def _http(status: bytes, body: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join(
        (
            b"HTTP/1.1 " + status,
            b"Content-Type: application/json",
            *headers,
            b"Content-Length: %d" % len(body),
            b"",
            body,
        )
    )


def _chunked(body: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:50], body[50:])) + b"0\r\n\r\n"


RESPONSES = (
    _http(b"200 OK", COMPLETION),
    _chunked(COMPLETION),
    _http(b"200 OK", LIST),
    _http(b"200 OK", b'{"error":{"message":"no"}}'),
    _http(b"503 Busy", b'{"error":{"message":"Loading model","type":"unavailable_error"}}', b"Retry-After: 2"),
    _http(b"429 Too Many", b'{"error":{"message":"slow"}}', b"Retry-After: Mon, 05 Oct 2026 10:00:00 GMT"),
    _http(b"400 Bad", b'{"error":{"message":"no","param":null,"code":"c"}}'),
    _http(b"302 Found", b"", b"Location: http://127.0.0.1:9/"),
    _http(b"500 Oh", b"<html>down</html>", b"Content-Encoding: identity"),
    _http(b"401 No", b'{"detail":"key-canary-1234"}'),
)


class _Server:
    """Sends the same bytes for every request, and closes the connection."""

    def __init__(self) -> None:
        self.said = b""
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            client, _ = self._listening.accept()
            with client, contextlib.suppress(OSError):
                client.settimeout(3)
                heard = client.makefile("rb")
                size = 0
                while (line := heard.readline()) not in (b"\r\n", b""):
                    name, _, value = line.partition(b":")
                    size = int(value) if name.lower() == b"content-length" else size
                heard.read(size)
                client.sendall(self.said)
                client.shutdown(socket.SHUT_WR)


class _World:
    """One endpoint and one event loop for all inputs."""

    def __init__(self) -> None:
        from pydantic import SecretStr

        self.server = _Server()
        self.loop = asyncio.new_event_loop()
        self.endpoint = ModelEndpoint(f"http://127.0.0.1:{self.server.port}/v1", SecretStr("key-canary-1234"))

    async def asked(self) -> Reply:
        breaker = self.endpoint._breaker
        breaker.succeeded()
        breaker.asked_until_s = 0.0
        return await self.endpoint.complete({"model": "m", "messages": [], "max_tokens": 9}, timeout_s=8)


@functools.cache
def _world() -> _World:
    return _World()


def _client(data: bytes) -> object:
    world = _world()
    world.server.said = data
    with contextlib.suppress(HoloError):
        listed = world.loop.run_until_complete(world.endpoint.models(timeout_s=8))
        check(listed is None or all(isinstance(model.name, str) for model in listed), "the name of a model is not text")
    try:
        reply = world.loop.run_until_complete(world.asked())
    except HoloError as error:
        told = str(error)
        told.encode()
        check("key-canary-1234" not in told, "an error contains the key")
        check(len(told) < 1000 and "\n" not in told, "an error is more than one short line")
        busy = error.http_status == 503 and BUSY_TEXT.search(world.server.said.decode(errors="replace"))
        check(
            error.maybe_billed or busy or error.http_status in REFUSED_STATUS,
            f"{type(error).__name__} was taken for unbilled",
        )
        raise
    json.dumps([reply.content, reply.reasoning, reply.finish_reason], ensure_ascii=False).encode()
    if reply.usage is not None:
        check(
            0 < reply.usage.prompt_tokens <= 10**9 and 0 <= reply.usage.completion_tokens <= 10**9, "a bill cannot be"
        )
        check(0 <= reply.usage.cached_tokens <= 10**9, "the number of cached tokens is impossible")
    return bool(reply.content), reply.usage is None, len(reply.tool_calls)


def _some_response() -> st.SearchStrategy[bytes]:
    """A valid response with any JSON as content, or with any value in one of its fields."""

    def bent(path: tuple[Any, ...], value: Any) -> bytes:
        told = json.loads(COMPLETION)
        at = told
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        return json.dumps(told).encode()

    message = ("choices", 0, "message")
    paths = st.sampled_from(
        [
            ("choices",),
            ("choices", 0),
            ("usage",),
            ("usage", "prompt_tokens"),
            ("usage", "prompt_tokens_details"),
            message,
            (*message, "content"),
            (*message, "tool_calls"),
            (*message, "tool_calls", 0),
            (*message, "tool_calls", 0, "function"),
            (*message, "tool_calls", 0, "function", "arguments"),
            ("choices", 0, "finish_reason"),
            ("id",),
            ("object",),
            ("error",),
        ]
    )
    body = st.one_of(
        st.builds(bent, paths, _json()), _json().map(lambda value: json.dumps(value).encode()), st.binary(max_size=40)
    )
    status = st.sampled_from(
        [
            b"200 OK",
            b"200 OK",
            b"200 OK",
            b"201 x",
            b"204 x",
            b"206 x",
            b"304 x",
            b"400 x",
            b"404 x",
            b"422 x",
            b"429 x",
            b"500 x",
            b"503 x",
            b"529 x",
            b"999 x",
        ]
    )
    header = st.sampled_from(
        [
            b"Retry-After: 9" * 3,
            b"Retry-After: -1",
            b"Content-Type: text/html; charset=utf-7",
            b"Content-Encoding: gzip",
            b"Content-Encoding: deflate, br",
            b"X: \xff",
            b"Transfer-Encoding: chunked",
            b"Retry-After: 1e400",
            b"Content-Type: application/json; charset=undefined",
        ]
    )
    return st.builds(_http, status, body, header) | body.map(_chunked)


TARGETS = [
    Target(
        "replies",
        _replies,
        lambda: [f"{name}\n{json.dumps(step)}".encode() for name in NAMES[:2] for step in STEPS],
        shapes=_some_step,
        words=(
            b'"tool_call":',
            b'"x":1e400',
            b'"x":NaN',
            b"<think>",
            b"</think>",
            b"```json\n",
            b'"keys":["ctrl"]',
            b"\\ud83d",
            b'"confidence":0.9',
        ),
        cpu_s=5,
        quick=40,
    ),
    Target(
        "answers",
        _answers,
        lambda: [json.dumps(step).encode() for step in STEPS],
        (UnusableReply,),
        shapes=lambda: _some_step().map(lambda data: data.partition(b"\n")[2]),
        words=(b'"x":', b'"y":1e999', b"\\ud800"),
    ),
    Target(
        "client",
        _client,
        lambda: RESPONSES,
        (HoloError,),
        shapes=_some_response,
        words=(
            b"HTTP/1.1 100 Continue\r\n\r\n",
            b"\r\n\r\n",
            b"Content-Encoding: gzip\r\n",
            b"Content-Length: 99999999999\r\n",
            b"ffffffffffffffff\r\n",
            b'"usage":',
            b"HTTP/1.1 200 OK\r\n",
            b'"choices":[',
            b"Retry-After: 9\r\n",
        ),
        quick=45,
        leak_rounds=4,
    ),
]
