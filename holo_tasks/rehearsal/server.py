"""The rehearsal model: a local server that plays a playbook over the protocol of a Holo model.

It is not a language model.

    python -m holo_tasks.rehearsal --playbook FILE [--port 0] [--latency-ms 0]

The server checks each request against the contract of its dialect. It reads the newest screenshot with OCR, and answers
with the playbook's step for that screen, or with the position of a text. Flows, demos and tests run with it without a
key or a GPU. The first line on stdout is `{"port": …, "base_url": …}`. Log lines go to stderr.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import logging
import os
import signal
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from holo_tasks.contract.all_rules import breaches_of
from holo_tasks.contract.offered_tools import answer_only
from holo_tasks.contract.question import asks_for_point, is_question
from holo_tasks.contract.rulebook import STANDARD, Body, Terms
from holo_tasks.contract.wire_messages import messages_of, newest_image, task_of, text_of, turns_of
from holo_tasks.machine.memory import reuse
from holo_tasks.rehearsal.conversations import Conversations
from holo_tasks.rehearsal.errors import RequestRefused
from holo_tasks.rehearsal.point_finder import point_of
from holo_tasks.rehearsal.reply import message_of, with_client_names
from holo_tasks.scripts.playbook import BadPlaybook, Playbook, load_playbook
from holo_tasks.scripts.rules import Decision, decide, to_thousandths
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.picture_targets import with_pictures
from holo_tasks.vision.screen_text import Sight

MODEL = "rehearsal"
OWNER = "prefect-holo (not a language model)"
LARGEST_REQUEST = 64 * 1024 * 1024
log = logging.getLogger("rehearsal")


class Rehearsal:
    """Answers chat completion requests from a playbook. Safe for use by several threads."""

    def __init__(self, playbook: Playbook, *, terms: Terms = STANDARD, reader: Reader | None = None) -> None:
        self.playbook, self.terms = playbook, terms
        self.reader = reader or Reader()
        self._conversations = Conversations()
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._breach_counts: Counter[str] = Counter()
        self._ocr_s = 0.0

    def complete(self, body: Any) -> dict[str, Any]:
        """Return a chat completion. Raises `RequestRefused` for a request that it cannot answer."""
        with self._lock:
            self._counts["requests"] += 1
        terms = self._check(body)
        if terms.dialect == "localize" and not asks_for_point(body, terms):
            raise RequestRefused(400, "no_questions", "the rehearsal model answers no questions")
        picture = newest_image(body)
        if picture is None:
            raise RequestRefused(400, "no_image", "the request has no image")
        if terms.dialect == "localize":
            message, why = _point_message(body, self._look(picture)), "what the question names"
        else:
            decision = self.decide(body, picture, terms)
            step, why = with_client_names(decision.step, body, terms), decision.why
            message = message_of(step, terms)
        calls = message.get("tool_calls")
        reasoning = f"Rehearsal, not a language model. Rule: {why}."
        written = f"{message['content']}{json.dumps(calls) if calls else ''}{reasoning}"
        with self._lock:
            usage = self._conversations.usage(body, written)
            if terms.dialect != "localize":
                self._conversations.remember(body, message if calls else step)
        log.info("%s -> %s", why, written[:200])
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": MODEL,
            "choices": [
                {
                    "index": 0,
                    "message": {**message, "reasoning_content": reasoning},
                    "finish_reason": "tool_calls" if calls else "stop",
                }
            ],
            "usage": usage,
        }

    def models(self) -> dict[str, Any]:
        """Return the reply to `GET /v1/models`."""
        entry = {"id": MODEL, "object": "model", "created": 0, "owned_by": OWNER}
        return {"object": "list", "data": [entry]}

    def stats(self) -> dict[str, Any]:
        """Return counts of the requests since the start."""
        with self._lock:
            return {
                "requests": self._counts["requests"],
                "breaches": sum(self._breach_counts.values()),
                "breaches_by_rule": dict(self._breach_counts),
                "images": self._counts["images"],
                "ocr_seconds": round(self._ocr_s, 3),
                "readings": {how: self._counts[how] for how in ("whole", "changes", "remembered")},
                "playbook": self.playbook.name,
            }

    def _check(self, body: Any) -> Terms:
        """Return the terms of a request. Raises `RequestRefused` if the request breaks one of their rules."""
        if not isinstance(body, Mapping):
            raise RequestRefused(400, "not_an_object", "the request body is not a JSON object")
        if body.get("stream"):
            raise RequestRefused(400, "no_streaming", "the rehearsal model does not stream")
        if isinstance(body.get("model"), str) and body["model"] not in ("", MODEL):
            raise RequestRefused(404, "model_not_found", f"there is no model {body['model']!r} here, only {MODEL!r}")
        terms = self._terms_of(body)
        found = breaches_of(body, terms)
        if not found:
            with self._lock:
                found = self._conversations.breaches(body, terms)
        if found:
            with self._lock:
                self._breach_counts.update(breach.rule.id for breach in found)
            message = f"The request breaks the contract ({terms.dialect}). " + "; ".join(map(str, found))
            log.warning("%s", message)
            raise RequestRefused(400, found[0].rule.id, message)
        return terms

    def _terms_of(self, body: Body) -> Terms:
        """Return the terms of the dialect that a request uses, even if it breaks the dialect's rules."""
        if "tools" in body:
            auto = body.get("tool_choice") == "auto"
            return replace(self.terms, dialect="tools", tool_choice="auto" if auto else "required")
        return replace(self.terms, dialect="localize") if is_question(body) else self.terms

    def _look(self, picture: bytes) -> Sight:
        from PIL import Image

        screen = Image.open(io.BytesIO(picture))
        reading = self.reader.read(screen)
        with self._lock:
            self._counts.update(("images", reading.how))
            self._ocr_s += reading.seconds
        return with_pictures(reading.sight, screen)

    def decide(self, body: Body, picture: bytes, terms: Terms) -> Decision:
        """Return the playbook's decision on the newest picture."""
        final = answer_only(body, terms)
        return decide(self.playbook, task_of(body), turns_of(body), self._look(picture), answer_only=final)


def _point_message(body: Body, sight: Sight) -> dict[str, Any]:
    point = point_of(text_of(messages_of(body)[0]), sight)
    if point is None:
        raise RequestRefused(400, "not_found", "the picture does not show the text of the question, or shows it twice")
    x, y = to_thousandths(point, sight.size)
    return {"role": "assistant", "content": json.dumps({"x": x, "y": y})}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RehearsalServer

    def do_GET(self) -> None:
        rehearsal = self.server.rehearsal
        answers = {"/v1/models": rehearsal.models, "/v1/rehearsal/stats": rehearsal.stats}
        make = answers.get(self.path.split("?")[0].rstrip("/"))
        if make is None:
            self._send(404, RequestRefused(404, "not_found", f"there is nothing at {self.path}").payload)
        else:
            self._send(200, make())

    def do_POST(self) -> None:
        started = time.monotonic()
        try:
            body = self._body()
            if self.path.split("?")[0].rstrip("/") != "/v1/chat/completions":
                raise RequestRefused(404, "not_found", f"there is nothing at {self.path}")
            status, payload = 200, self.server.rehearsal.complete(body)
        except RequestRefused as refused:
            status, payload = refused.status, refused.payload
        except Exception as error:  # the server keeps running after a failed request
            log.exception("the request failed")
            status, payload = 500, RequestRefused(500, type(error).__name__, str(error)).payload
        time.sleep(max(0.0, self.server.latency_s - (time.monotonic() - started)))
        self._send(status, payload)

    def _body(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            self.close_connection = True
            raise RequestRefused(411, "length_required", "the request has no Content-Length")
        if int(length) > LARGEST_REQUEST:
            self.close_connection = True
            raise RequestRefused(413, "too_large", f"a request may hold {LARGEST_REQUEST} bytes")
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise RequestRefused(400, "not_json", f"the request body is not JSON: {error}") from None

    def _send(self, status: int, payload: Mapping[str, Any]) -> None:
        data = json.dumps(payload, ensure_ascii=False).encode()
        self.send_response(HTTPStatus(status))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        log.debug(format, *args)


class RehearsalServer(ThreadingHTTPServer):
    """The HTTP server. ``latency_s`` is the shortest time of an answer, in seconds."""

    daemon_threads = True

    def __init__(self, rehearsal: Rehearsal, *, host: str = "127.0.0.1", port: int = 0, latency_s: float = 0.0):
        super().__init__((host, port), _Handler)
        self.rehearsal, self.latency_s = rehearsal, latency_s

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of closed connections. A client closes its connection after a timeout."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def base_url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/v1"


def end_with_parent() -> None:
    """End this process when its parent process ends, unless SIGHUP is ignored, as under ``nohup``.

    PR_SET_PDEATHSIG is not used: the kernel sends that signal when the *thread* that started the process ends.
    """
    parent = os.getppid()
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)

    if parent > 1:
        threading.Thread(target=watch, name="parent watch", daemon=True).start()


def main(argv: Sequence[str] | None = None) -> int:
    """Serve a playbook until a signal comes or the parent process ends."""
    options = _parser().parse_args(argv)
    end_with_parent()
    reuse()
    logging.basicConfig(stream=sys.stderr, level=options.log.upper(), format="rehearsal model: %(message)s")
    if importlib.util.find_spec("rapidocr") is None:
        return _refuse_to_start("OCR is not installed: run pip install 'prefect-holo[rehearsal]'")
    try:
        playbook = load_playbook(options.playbook)
        terms = Terms(transport=options.transport)
        server = RehearsalServer(
            Rehearsal(playbook, terms=terms),
            host=options.host,
            port=options.port,
            latency_s=options.latency_ms / 1000,
        )
    except BadPlaybook as error:
        return _refuse_to_start(str(error))
    except OSError as error:
        return _refuse_to_start(f"cannot listen on {options.host}:{options.port}: {error}")
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    threading.Thread(target=server.rehearsal.reader.warm_up, name="warm up", daemon=True).start()
    ready = {"port": server.server_address[1], "base_url": server.base_url, "model": MODEL, "owned_by": OWNER}
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()
    return 0


def _refuse_to_start(message: str) -> int:
    sys.stderr.write(f"rehearsal model: {message}\n")
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m holo_tasks.rehearsal",
        description="Serve a playbook over the protocol of a Holo model. It is not a language model.",
    )
    parser.add_argument("--playbook", type=Path, required=True, metavar="FILE")
    parser.add_argument("--host", default="127.0.0.1", help="default: this machine only")
    parser.add_argument("--port", type=int, default=0, help="0 (default): a free port, printed on stdout")
    parser.add_argument("--latency-ms", type=float, default=0, metavar="N", help="shortest time of an answer")
    parser.add_argument("--transport", choices=["structured_outputs", "response_format"], default="structured_outputs")
    parser.add_argument("--log", choices=["debug", "info", "warning", "error"], default="info")
    return parser


if __name__ == "__main__":
    sys.exit(main())
