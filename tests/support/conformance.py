"""A model server over real HTTP that checks every request of whole conversations against the contract, and injects
faults.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from holo_tasks.contract.all_rules import breaches_of
from holo_tasks.contract.rulebook import STANDARD, Body, Breach, Rule, Terms
from holo_tasks.contract.tokens import prompt_tokens
from holo_tasks.contract.wire_messages import slim
from holo_tasks.rehearsal.conversations import cached_tokens
from tests.support import contract_wire
from tests.support.faults import ALL_FAULTS, Fault
from tests.support.replies import PARTIAL, Draft, Meaning, draft_of
from tests.support.turn_taking import (
    Exchange,
    begins_anew,
    conversation_of,
    corrects,
    is_last_call,
    same_request,
    turn_breaches,
)

CANARY = "REASONING-CANARY"
MISTAKE = Rule("X00", "the conformance server itself failed")
Script = Sequence[Meaning] | Callable[[int], Meaning]
Injected = str | Fault | Sequence[str | Fault] | None
Faults = Mapping[int, Injected] | Callable[[int], Injected]


@dataclass
class Conversation:
    """The server's state of one task: its current turn, and the last request with the follow-ups its answer allows."""

    turn: int = 0
    injected: Counter[int] = field(default_factory=Counter)
    exchange: Exchange | None = None
    reasoning: list[str] = field(default_factory=list)

    def settle(self, exchange: Exchange, turn: int) -> None:
        """Store the last request, and the turn that the conversation has reached with it."""
        self.exchange, self.turn = exchange, turn


class ConformanceServer:
    """Serves on a free loopback port. Leaving the context, or `check`, fails with the first rule that was broken.

    ``script`` is the model's intended reply of each turn, in canonical form: ``{"tool": "click", "element": "Save",
    "x": 500, "y": 250}``, optionally with ``note`` and ``thought``. The last entry repeats. Conversations are
    identified by their tasks. ``faults`` lists the faults of a turn before its good reply, each injected once.
    ``requests`` are the parsed bodies, ``headers`` their headers, ``injected`` the faults that occurred. Tokens are
    counted as billed.
    """

    def __init__(
        self, script: Script, terms: Terms = STANDARD, faults: Faults | None = None, *, latency_s: float = 0.0
    ) -> None:
        self._script, self.terms, self._faults, self._latency_s = script, terms, faults or {}, latency_s
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.breaches: list[Breach] = []
        self.injected: list[str] = []
        self.prompt_tokens = self.completion_tokens = self.cached_tokens = 0
        self.connections = self.in_flight = self.most_in_flight = 0
        self._conversations: dict[str, Conversation] = {}
        self._replies = 0
        self._first: list[Breach] = []
        self._lock = threading.Lock()
        self._let_go = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> ConformanceServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self.check()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def check(self) -> None:
        """Raise AssertionError with the rules that the first bad request broke."""
        if self._first:
            raise AssertionError("The contract was broken. " + "; ".join(map(str, self._first)))

    def release(self) -> None:
        """Let the server answer the hanging requests."""
        self._let_go.set()

    def answer(self, call: contract_wire.Call) -> tuple[Draft, str]:
        """Return the reply to a request, and the model name in the request."""
        with self._lock:
            if call.lists_models:
                found = contract_wire.BOOK.breaches(call, self.terms)
                return (self._refuse(found) if found else _listing()), ""
            self.headers.append(dict(call.headers))
            found = contract_wire.BOOK.breaches(call, self.terms)
            if found:
                return self._refuse(found), ""
            body = json.loads(call.raw)
            self.requests.append(body)
            found = breaches_of(body, self.terms)
            if not found:
                conversation = self._conversation(body)
                if conversation.exchange:
                    found = turn_breaches(body, conversation.exchange, self.terms)
            if found:
                return self._refuse(found), ""
            draft = self._reply(body, conversation)
            self._charge(draft)
            return draft, str(body["model"])

    def _conversation(self, body: dict[str, Any]) -> Conversation:
        key = conversation_of(body, self.terms)
        if self.terms.dialect == "localize":
            # The text of a question changes when it is corrected.
            known = (
                name
                for name, kept in self._conversations.items()
                if kept.exchange and self._goes_on(body, kept.exchange)
            )
            key = next(known, key)
        found = self._conversations.setdefault(key, Conversation())
        if found.exchange and begins_anew(body, found.exchange, self.terms):
            found = self._conversations[key] = Conversation()
        return found

    def _goes_on(self, body: Body, exchange: Exchange) -> bool:
        corrected = exchange.sequels[0] != "tolerated" and corrects(body, exchange.body, self.terms)
        return corrected or same_request(body, exchange.body)

    def _reply(self, body: dict[str, Any], conversation: Conversation) -> Draft:
        turn, before = conversation.turn, conversation.exchange
        meaning = self._script(turn) if callable(self._script) else self._script[min(turn, len(self._script) - 1)]
        final = is_last_call(body, before.body if before else None, self.terms)
        if final and meaning["tool"] != "answer":
            meaning = PARTIAL
        draft = draft_of(meaning, body, self.terms, self._replies)
        name = ("reasoning_content", "reasoning")[self._replies % 2]
        thought = f"{CANARY}-{self._replies}"
        self._replies += 1
        draft.reasoning = {name: thought}
        conversation.reasoning.append(thought)
        draft.count(prompt_tokens(body), cached_tokens(body, before.body) if before else 0)
        meant, over = draft.meant, meaning.get("tool") == "answer"
        asked = Exchange(slim(body), unusable=before.unusable if before else 0, reasoning=tuple(conversation.reasoning))
        good = replace(asked, reply=meant, over=over, unusable=0)
        fault = self._next_fault(conversation)
        after = good
        if fault:
            fault.spoil(draft)
            self.injected.append(fault.name)
            after = replace(asked, sequels=fault.sequels, unusable=asked.unusable + ("corrected" in fault.sequels))
            if "tolerated" in fault.sequels:
                # The client replays a message with a call exactly as the server sent it; it replays a step in its own
                # form.
                sent = draft.meant if self.terms.dialect == "tools" else meant
                after = replace(good, sequels=fault.sequels, reply=sent)
        conversation.settle(after, turn + (after.reply is not None))

        def changed(to: Exchange) -> None:
            if conversation.exchange is after:
                conversation.settle(to, turn + (to.reply is not None))

        draft.let_go = partial(changed, good)
        draft.lost = partial(changed, replace(asked, sequels=("retried",)))
        return draft

    def _next_fault(self, conversation: Conversation) -> Fault | None:
        named = self._faults(conversation.turn) if callable(self._faults) else self._faults.get(conversation.turn)
        faults = [named] if isinstance(named, str | Fault) else list(named or ())
        past = conversation.injected[conversation.turn]
        if past >= len(faults):
            return None
        conversation.injected[conversation.turn] += 1
        chosen = faults[past]
        return chosen if isinstance(chosen, Fault) else ALL_FAULTS[self.terms.dialect][chosen]

    def _refuse(self, found: list[Breach]) -> Draft:
        self.breaches.extend(found)
        self._first = self._first or found
        error = {
            "message": "; ".join(map(str, found)),
            "type": "invalid_request_error",
            "param": None,
            "code": found[0].rule.id,
        }
        return Draft(self.terms, {}, status=400, raw=json.dumps({"error": error}).encode())

    def _charge(self, draft: Draft) -> None:
        """Count the tokens that a reply bills. A reply that is not sent whole bills nothing."""
        if draft.raw is None and draft.usage and not (draft.no_usage or draft.cut or draft.hangs):
            self.prompt_tokens += draft.usage["prompt_tokens"]
            self.completion_tokens += draft.usage["completion_tokens"]
            self.cached_tokens += (draft.usage["prompt_tokens_details"] or {}).get("cached_tokens", 0)

    def deliver(self, handler: BaseHTTPRequestHandler, call: contract_wire.Call) -> None:
        """Answer a request, with the fault of its turn if there is one."""
        with self._lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            try:
                draft, model = self.answer(call)
            # a mistake in a script has to fail its test instead of looking like a dropped connection
            except Exception as error:
                draft, model = self._refuse([Breach(MISTAKE, repr(error))]), ""
            time.sleep(self._latency_s)
            gone = not self._outlasts(handler.connection) if draft.hangs else _gone(handler.connection)
            settle = draft.lost if gone else draft.let_go if draft.hangs else None
            with self._lock:
                if settle:
                    settle()
            if gone:
                handler.close_connection = True
            else:
                _send(handler, draft, draft.completion(model))
        finally:
            with self._lock:
                self.in_flight -= 1

    def _outlasts(self, connection: socket.socket) -> bool:
        """Wait until `release`. Returns False if the client gives up before."""
        while not self._let_go.wait(0.02):
            if _gone(connection):
                return False
        return True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, outer: ConformanceServer) -> None:
        self.outer = outer
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        with self.server.outer._lock:
            self.server.outer.connections += 1

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        raw = self.rfile.read(int(headers.get("content-length", 0)))
        self.server.outer.deliver(self, contract_wire.Call(self.command, self.path, headers, raw))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _gone(connection: socket.socket) -> bool:
    """Return whether the client has closed the connection."""
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and not connection.recv(1, socket.MSG_PEEK)


def _send(handler: BaseHTTPRequestHandler, draft: Draft, data: bytes) -> None:
    handler.close_connection = handler.close_connection or bool(draft.cut)
    if draft.cut == "before the headers":
        return
    handler.send_response(draft.status)
    for name, value in {"content-type": "application/json", **draft.headers}.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(data)))
    handler.end_headers()
    try:
        handler.wfile.write(data[: len(data) // 2] if draft.cut else data)
    except OSError:
        # The client may disconnect at any time.
        handler.close_connection = True


def _listing() -> Draft:
    entry = {"id": "conformance", "object": "model", "created": 0, "owned_by": "tests"}
    raw = json.dumps({"object": "list", "data": [entry]}).encode()
    return Draft(STANDARD, {}, raw=raw)
