"""A model over HTTP that errs: an oracle knows the right next step, and a known share of its steps becomes errors.

It speaks the library's protocol, and that of the naive loop. The words of a step always name the control that the model
means.
"""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from PIL import Image, ImageChops
from pydantic import BaseModel, ConfigDict

from benchmarks.erring.errors import Call, Control, Erring, Meant, drawn, err, is_pointed, point_of, without_field
from benchmarks.erring.place import Place, answer
from benchmarks.nasty.suite import CLERK
from benchmarks.oracle import step_of
from holo_tasks.contract.offered_tools import answer_only
from holo_tasks.contract.rulebook import Body, Terms
from holo_tasks.contract.tokens import prompt_tokens, text_tokens
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.rehearsal.errors import RequestRefused
from holo_tasks.rehearsal.server import Rehearsal, RehearsalServer
from holo_tasks.scripts.playbook import load_playbook
from holo_tasks.scripts.rules import Decision, to_thousandths

NAIVE = "You are a computer use agent."
"""How the system message of the naive loop begins."""
DOUBTS = ("but the task says", "Your answer was not accepted yet")
"""Texts of the library after which a model reads its task again."""
LATEST = 2
"""Number of the last messages that hold the outcome of the last step and the newest picture."""
OWN = ("clears", "at")
"""Keys of the oracle's calls that no tool has."""
UNLIKE, ANOTHER = 48, 0.03
"""Least difference of a pixel, of 255, and least share of such pixels for a control that looks like another one."""


class Answered(BaseModel):
    """One call of a model: its number, the right step and the given one. ``kind`` is empty if they are the same."""

    model_config = ConfigDict(frozen=True)

    number: int
    kind: str = ""
    meant: dict[str, Any] = {}
    given: dict[str, Any] = {}


class ErringModel(Rehearsal):
    """Plays the model of one episode."""

    def __init__(self, place: Place, task: str, seed: int, rate: float) -> None:
        super().__init__(load_playbook(CLERK))  # the base class needs one, and never uses it here
        self.place, self.task, self.seed, self.rate = place, task, seed, rate
        self.log: list[Answered] = []
        self.seen: list[Sequence[Control]] = []
        """The controls that were on the screen at each call."""
        self.pictures: list[bytes] = []
        """The model's newest picture at each call; empty in the naive loop."""
        self._mind = place.mind()
        self._deciding = threading.Lock()

    @property
    def size(self) -> Size:
        return self.place.started.size

    def decide(self, body: Body, picture: bytes, terms: Terms) -> Decision:
        if any(doubt in str(body["messages"][-LATEST:]) for doubt in DOUBTS):
            self._mind.read_task_again()
        call = self.next_call(picture, final=answer_only(body, terms))
        known = {name: value for name, value in call.items() if name not in OWN}
        return Decision(step_of(_in_thousandths(known, self.size)), "the state of the program")

    def next_call(self, picture: bytes = b"", *, final: bool = False) -> Call:
        """Return the next step, right or wrong, with points in pixels of the screen.

        With ``final`` the model may only answer. It then reports the contents of the screen, and makes no error.
        """
        with self._deciding:
            mind, place = self._mind, self.place
            controls = place.controls()
            meant = place.meant(mind)
            if meant is None:
                raise RequestRefused(400, "no_next_step", "the oracle knows no next step")
            if final and meant.call["tool_name"] != "answer":
                meant = Meant(answer("not done"))
            number, kind, given = len(self.log), "", meant.call
            draw = drawn(self.task, self.seed, number, self.rate)
            if draw is not None:
                without = place.meant(without_field(mind, meant.field)) if meant.field else None
                input_permit = err(Erring(mind, controls, self.size, draw), meant, without, place.answers(number))
                if input_permit is not None:
                    kind, given = input_permit.kind, input_permit.given
            self.log.append(Answered(number=number, kind=kind, meant=meant.call, given=given))
            self.seen.append(controls)
            self.pictures.append(picture)
            mind.last, mind.before = given, controls
            return given

    def stayed(self, number: int) -> bool:
        """Return whether the controls were the same at the next call. True if this was the last call."""
        return number + 1 >= len(self.seen) or self.seen[number] == self.seen[number + 1]

    def showed_another(self, number: int) -> bool:
        """Return whether the picture of a call had another thing at its point than the picture of the next call.

        The oracle knows a control as soon as the program does, which may be before the control is on the screen.
        """
        call = self.log[number].given
        shown = [Image.open(io.BytesIO(one)).convert("RGB") for one in self.pictures[number : number + 2] if one]
        if len(shown) < 2 or not is_pointed(call):
            return False
        at = point_of(call)
        box = next((one.box for one in self.seen[number] if one.box.contains(at)), None)
        if box is None:
            return False
        before, after = (one.crop((box.left, box.top, box.right, box.bottom)) for one in shown)
        unlike = ImageChops.difference(before, after).convert("L").histogram()[UNLIKE:]
        return sum(unlike) > ANOTHER * box.width * box.height

    def complete(self, body: Any) -> dict[str, Any]:
        if isinstance(body, Mapping) and _is_naive(body):
            return self._naive(body)
        return super().complete(body)

    def _naive(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer the naive loop in its own schema."""
        where = next((one.given for one in reversed(self.log) if is_pointed(one.given)), None)
        call = self.next_call()
        for name, value in self.place.started.secrets.items():  # this loop cannot type a secret by its name
            if call.get("content") == f"{{{{secret:{name}}}}}":
                call = {**call, "content": value}
        written = json.dumps(_as_naive(call, point_of(where) if where else Point(0, 0), self.size))
        prompt, produced = prompt_tokens(body), text_tokens(written)
        usage = {"prompt_tokens": prompt, "completion_tokens": produced, "total_tokens": prompt + produced}
        message = {"role": "assistant", "content": written}
        return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


def _is_naive(body: Mapping[str, Any]) -> bool:
    messages = body.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else {}
    return str(first.get("content", "")).startswith(NAIVE)


def _as_naive(call: Call, last: Point, size: Size) -> dict[str, Any]:
    """Return a step in the schema of the naive loop; text is typed where the model has pointed last."""
    kinds = {
        "click": "click",
        "write": "type",
        "wait": "wait",
        "answer": "done",
        "move_to": "hover",
        "scroll": "scroll",
    }
    if call["tool_name"] not in kinds:
        raise RequestRefused(400, "no_such_action", f"the naive loop has no {call['tool_name']}")
    at = point_of(call) if is_pointed(call) else Point(*call.get("at", (last.x, last.y)))
    text = None
    if call["tool_name"] == "write":
        enter = "\n" if call.get("press_enter") else ""
        text = "\b" * int(call.get("clears", 0)) * bool(call.get("overwrite")) + call["content"] + enter
    if call["tool_name"] == "scroll":
        text = f"{call['direction']}{call.get('scroll_size', 3)}"
    if call["tool_name"] == "answer":
        text = call["content"]
    return {
        "element_type": "other",
        "action": kinds[call["tool_name"]],
        "x": at.x / size.width,
        "y": at.y / size.height,
        "text": text,
        "confidence": 0.93,
        "reasoning": str(call.get("element") or call["tool_name"]),
    }


def _in_thousandths(call: Call, size: Size) -> Call:
    """Return a call with its points as a model of the library gives them."""
    written = dict(call)
    for across, down in (("x", "y"), ("x1", "y1"), ("x2", "y2")):
        if across in call:
            written[across], written[down] = to_thousandths(Point(call[across], call[down]), size)
    return written


@contextmanager
def erring_model(place: Place, task: str, seed: int, rate: float) -> Iterator[tuple[ErringModel, str]]:
    """Serve a model that errs on this machine; gives it and its address."""
    model = ErringModel(place, task, seed, rate)
    server = RehearsalServer(model)
    threading.Thread(target=server.serve_forever, name="erring model", daemon=True).start()
    try:
        yield model, server.base_url
    finally:
        server.shutdown()
        server.server_close()
