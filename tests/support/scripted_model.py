"""A model endpoint over real HTTP that answers from a script and keeps every request."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[[int, dict[str, Any]], "Answer | dict[str, Any] | str"]


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about a client that has left: it would mix with the output of another test."""


class Answer:
    """One HTTP answer: a chat completion by default, or a given body."""

    def __init__(
        self,
        content: str | None = None,
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
        usage: dict[str, Any] | None = None,
        finish_reason: str = "stop",
        delay_s: float = 0.0,
        drop: bool = False,
        no_usage: bool = False,
    ) -> None:
        self.content, self.status, self.headers, self.body = content, status, headers or {}, body
        self.usage = (
            None if no_usage else usage or {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
        )
        self.finish_reason, self.delay_s, self.drop = finish_reason, delay_s, drop


def completion(message: dict[str, Any], *, finish_reason: str = "stop", usage: Any = None) -> Answer:
    """Return a chat completion with the given message."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", **message}}
    return Answer(body=json.dumps({"choices": [choice], "usage": usage}).encode())


def function_call(name: str, arguments: Any, call_id: Any = "c1") -> dict[str, Any]:
    """Return a function call as a server sends it. Arguments that are not text are encoded as JSON."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": written}}


def step(tool_name: str, *, thought: str = "Going on.", note: str | None = None, **arguments: Any) -> dict[str, Any]:
    """Return a step as a structured-mode model writes it."""
    return {"note": note, "thought": thought, "tool_call": {"tool_name": tool_name, **arguments}}


class ScriptedModel:
    """Serves on a free loopback port. ``requests`` are the parsed bodies, ``headers`` their headers.

    ``models`` are the model names or entries in the list, or the answer to a list request. Without it the list request
    fails.
    """

    def __init__(
        self, script: Script | Sequence[Any], *, models: Sequence[str | dict[str, Any]] | Answer | None = None
    ) -> None:
        self._script = script
        self._models = models
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.arrived_s: list[float] = []
        self.replied_s: list[float] = []
        """When each reply was sent, on the server's clock."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                outer._serve(self, raw)

            def do_GET(self) -> None:
                outer._list(self)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def images(self) -> list[bytes]:
        """Return the bytes of every received image, in order."""
        return [
            base64.b64decode(part["image_url"]["url"].split(",", 1)[1])
            for body in self.requests
            for message in body["messages"]
            if not isinstance(message["content"], str)
            for part in message["content"]
            if part["type"] == "image_url"
        ]

    def _serve(self, handler: BaseHTTPRequestHandler, raw: bytes) -> None:
        body = json.loads(raw)
        number = len(self.requests)
        self.requests.append(body)
        self.headers.append({name.lower(): value for name, value in handler.headers.items()})
        self.arrived_s.append(time.monotonic())
        said = (
            self._script(number, body) if callable(self._script) else self._script[min(number, len(self._script) - 1)]
        )
        answer = said if isinstance(said, Answer) else Answer(said if isinstance(said, str) else json.dumps(said))
        completion = {
            "id": f"c{number}",
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model", ""),
            "choices": [
                {
                    "index": 0,
                    "finish_reason": answer.finish_reason,
                    "message": {
                        "role": "assistant",
                        "content": answer.content,
                        "reasoning_content": "SECRET-REASONING",
                    },
                }
            ],
            "usage": answer.usage,
        }
        _send(handler, answer, json.dumps(completion).encode(), self.replied_s)

    def _list(self, handler: BaseHTTPRequestHandler) -> None:
        if isinstance(self._models, Answer):
            _send(handler, self._models, b"")
        else:
            plain = {"object": "model", "created": 0, "owned_by": "test"}
            entries = [plain | ({"id": each} if isinstance(each, str) else each) for each in self._models or ()]
            answer = Answer(status=404 if self._models is None else 200)
            _send(handler, answer, json.dumps({"object": "list", "data": entries}).encode())


def _send(handler: BaseHTTPRequestHandler, answer: Answer, usual: bytes, sent_s: list[float] | None = None) -> None:
    if answer.delay_s:
        time.sleep(answer.delay_s)
    if sent_s is not None:
        sent_s.append(time.monotonic())
    if answer.drop:
        handler.close_connection = True
        handler.connection.close()
        return
    data = answer.body if answer.body is not None else usual
    handler.send_response(answer.status)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(data)))
    for name, value in answer.headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)
