"""What the flight recorder writes down: a closed set of small typed events.

Every value is a string, an integer, a boolean, null, or a list or object of these, so that the canonical JSON
of an event is unique. Money is integer micro-USD, durations are integer microseconds, times are
RFC 3339 strings in UTC, pictures are named by the SHA-256 of their bytes.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

Status: TypeAlias = Literal[
    "answered",
    "invalid",
    "limit",
    "needs_person",
    "refused",
    "killed",
    "model_failed",
    "desktop_failed",
    "unavailable",
]

Purpose: TypeAlias = Literal["step", "locate", "judge"]
"""What a model was asked for: the next step, a place on the screen, a judgement."""


class Event(BaseModel):
    """What all events share: where in the story they belong.

    ``subgoal`` is 0 for events of the run itself, else the sub-goal's number in this run, from 1.
    ``step`` is 0 before the first step of the sub-goal.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    subgoal: int = 0
    step: int = 0


class RunOpened(Event):
    """``signed_by`` is the fingerprint of the key that signs this trace: SHA-256 of its SubjectPublicKeyInfo (DER)."""

    kind: Literal["run_opened"] = "run_opened"
    run_id: str
    title: str
    library: str
    flow_run_id: str = ""
    display: str = ""
    model: str = ""
    signed_by: str = ""


class SubgoalOpened(Event):
    """A sub-goal begins with an empty history; ``progress`` reads like ``step 2 of 4: look up …``.

    ``playbook`` is the playbook that works on it: its goal, and a learned one's version, or the SHA-256 of the file
    that it was read from; ``macros`` are those that its model may call. ``press_once`` are the labels of what has its
    effect.
    """

    kind: Literal["subgoal_opened"] = "subgoal_opened"
    title: str
    goal: str
    progress: str = ""
    token: str = ""
    model: str = ""
    display: str = ""
    flow_run_id: str = ""
    playbook: str = ""
    macros: list[str] = []
    press_once: list[str] = []


class MaskedArea(BaseModel):
    """What was painted over: why, and where as ``[left, top, width, height]`` in screen pixels; never what it was."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    box: list[int]


class FrameTaken(Event):
    """A settled, redacted and encoded picture; its bytes are ``frames/<sha256>.<ext>``.

    ``region`` is the part of the screen it shows as ``[left, top, width, height]``, empty for all of it.
    ``correction`` is what the model's coordinates on it are corrected by: factor and offset in thousandths, across and
    down; empty for none. ``quiet_us`` is the time from the last repaint to the capture; ``settled`` is false when the
    screen was still changing at the time limit. ``settle_us`` is the time until the screen was ready; ``waited_us`` of
    it went to work of the program that was in flight. ``waiting_for`` is what the program was still waiting for when
    the patience was over, empty if it was done. ``unseen`` names the signs of work that the desktop cannot see, each
    with the reason. ``windows`` are the titles of windows on it, the uppermost first, as
    far as they may be known outside.
    """

    kind: Literal["frame"] = "frame"
    sha256: str
    media_type: str
    size_bytes: int
    sent_width: int
    sent_height: int
    screen_width: int
    screen_height: int
    frame_digest: str
    region: list[int] = []
    masks: list[MaskedArea]
    settled: bool
    settle_us: int
    quiet_us: int
    capture_us: int
    redact_us: int = 0
    encode_us: int
    correction: list[str] = []
    windows: list[str] = []
    waited_us: int = 0
    waiting_for: str = ""
    unseen: list[str] = []


class RequestSent(Event):
    """A model is about to be asked; ``shots`` are the pictures in the request, oldest first."""

    kind: Literal["request"] = "request"
    purpose: Purpose = "step"
    attempt: int
    model: str
    endpoint: str
    shots: list[str]
    messages: int
    prompt_sha256: str


class ReplyReceived(Event):
    """A bill and what came with it. ``estimated`` marks a cost computed without the server's usage."""

    kind: Literal["reply"] = "reply"
    attempt: int
    latency_us: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost_micro_usd: int | None
    estimated: bool
    finish_reason: str
    content: str


class CallFailed(Event):
    """A request that brought no reply: what happened, and whether it is tried again."""

    kind: Literal["call_failed"] = "call_failed"
    attempt: int
    reason: str
    transient: bool


class Decided(Event):
    """The parsed step: what the model noted, thought and wants done (coordinates in thousandths of the picture).

    ``confidence`` is empty unless the model gave one; ``cached`` says that the model was not asked, because it had
    decided on the very same screen, history and goal before. ``macro`` names the sequence that the model has called and
    that the step belongs to.
    """

    kind: Literal["decision"] = "decision"
    note: str | None
    thought: str
    tool_name: str
    arguments: dict[str, JsonValue]
    label: str
    confidence: str = ""
    cached: bool = False
    macro: str = ""


class Located(Event):
    """Where something is: a point in screen pixels, or empty if it is nowhere.

    ``by`` is who said so: accessibility, that is the program itself, text that is read on the screen, or the model;
    traces in which it is empty were made when only the model could. ``why`` says why it had to be the model.
    """

    kind: Literal["location"] = "location"
    description: str
    point: list[int]
    mark: int | None = None
    by: str = ""
    why: str = ""


class JudgedQuestion(Event):
    """What a second model said to a question that is not navigation."""

    kind: Literal["judgement"] = "judgement"
    question: str
    model: str
    answer: str
    reason: str = ""


class TookStock(Event):
    """The model was told that it is going round in circles; ``strip`` is the picture of its last actions, if shown."""

    kind: Literal["take_stock"] = "take_stock"
    reason: str
    strip: str = ""


class Corrected(Event):
    """The reply was not usable; this is what the model was told before it was asked again."""

    kind: Literal["correction"] = "correction"
    reason: str


class Permitted(Event):
    """Whether the action may go ahead, and which rule said so."""

    kind: Literal["permit"] = "permit"
    allowed: bool
    rule: str


class ActionIntended(Event):
    """Written before the first input event of an action. ``gesture`` is in screen pixels.

    ``element`` is what the program says it hits, as far as that may be known outside: its role, name and application;
    empty where no program says so, or not at once.
    """

    kind: Literal["action"] = "action"
    gesture_kind: str
    gesture: dict[str, JsonValue]
    label: str
    before: str
    element: dict[str, str] = {}


class ActionDone(Event):
    kind: Literal["receipt"] = "receipt"
    took_us: int
    input_events: int


class ActionFailed(Event):
    kind: Literal["action_failed"] = "action_failed"
    reason: str


class Judged(Event):
    """The verdict on the step's action: ``before`` and ``after`` are pictures, ``changed_box`` is
    ``[left, top, width, height]`` in screen pixels, empty when nothing changed. What changed ``elsewhere`` is not near
    the target; ``state`` is what the screen was recognized as, where states are declared."""

    kind: Literal["verdict"] = "verdict"
    outcome: Literal["changed", "elsewhere", "unchanged", "unsettled", "wrong_state"]
    before: str
    after: str
    changed_box: list[int]
    state: str = ""


class FieldRead(Event):
    """A field was read back after a text was typed into it.

    ``outcome`` says how the field's text relates to the typed one: exact, or for example completed or cut_off; unread
    has its reason in ``why``. ``held`` is the field's text, only where it differs; ``field`` is the field's name.
    ``by`` is the source: accessibility, or text that OCR read.
    """

    kind: Literal["field_read"] = "field_read"
    outcome: Literal[
        "exact",
        "cleared",
        "formatted",
        "case",
        "reformatted",
        "completed",
        "cut_off",
        "lost",
        "corrected",
        "empty",
        "another",
        "unread",
    ]
    field: str = ""
    held: str = ""
    by: str = ""
    why: str = ""


class LookedAgain(Event):
    """The screen changed between the look it was decided on and the input: nothing was pressed."""

    kind: Literal["looked_again"] = "looked_again"
    reason: str


class Repeated(Event):
    """A click that changed nothing is done once more, this many pixels beside: it was declared safe to repeat."""

    kind: Literal["repeated"] = "repeated"
    reason: str
    dx: int
    dy: int


class StepTimed(Event):
    """Where the time of a step went: deciding, acting, waiting for the program, and perceiving what came of it.

    What is left of ``total_us`` is overhead: recording, comparing, Prefect.
    """

    kind: Literal["step_timed"] = "step_timed"
    perceive_us: int
    decide_us: int
    act_us: int
    total_us: int
    waiting_us: int = 0


class HandedOver(Event):
    """A person is asked; ``handoff`` names the hand-off if the agent waits for the answer."""

    kind: Literal["handoff"] = "handoff"
    question: str
    handoff: str = ""


class TakenBack(Event):
    """A person has given the screen back: what they chose of what was offered, and what they say of it.

    What they did meanwhile is not recorded.
    """

    kind: Literal["taken_back"] = "taken_back"
    handoff: str
    choice: str
    note: str
    by: str


class StateSeen(Event):
    """The screen was recognized as one of the declared states, empty if as none; ``wanted`` is the state that was
    asked for, if one was, and ``how`` what is done about it."""

    kind: Literal["state"] = "state"
    state: str
    wanted: str = ""
    how: str = ""


class Interrupted(Event):
    """Something that may come at any time had come up, for the so-many-th time, and is dealt with."""

    kind: Literal["interruption"] = "interruption"
    name: str
    times: int


class Backtracked(Event):
    """Who works got nowhere, so it is taken back, ``by`` the Escape key or by the declared ways ``to`` a state."""

    kind: Literal["backtracked"] = "backtracked"
    by: str
    to: str = ""


class LayerChanged(Event):
    """A layer could not finish the sub-goal; the next one goes on."""

    kind: Literal["layer_changed"] = "layer_changed"
    source: str
    target: str
    reason: str


class Inventoried(Event):
    """What there is on the machine was looked through, and this is what models are told of it, in this run."""

    kind: Literal["inventory"] = "inventory"
    told: str
    took_us: int


class FileGiven(Event):
    """A file was put into the folder that the programs on the desktop share with the agent.

    ``name`` is what it is called there, ``sha256`` the digest of its bytes, ``token`` the business item it is for.
    """

    kind: Literal["file_given"] = "file_given"
    name: str
    size_bytes: int
    sha256: str
    read_only: bool
    token: str = ""


class FileArrived(Event):
    """A file that a program saved in that folder was whole, and was taken: ``name`` is what it is called, made safe.

    If it was ``kept`` its bytes are ``files/<sha256>``.
    """

    kind: Literal["file_arrived"] = "file_arrived"
    name: str
    size_bytes: int
    sha256: str
    kept: bool = False
    token: str = ""


class KillSeen(Event):
    """The run was stopped from outside; ``source`` is which way, empty if its task was cancelled by the program."""

    kind: Literal["kill"] = "kill"
    reason: str
    source: str = ""


class SubgoalClosed(Event):
    """``layer`` is what came to the answer: the model, a playbook, a script, an api or a person; empty if nothing did
    in this run. Older traces name a playbook a script. ``skipped`` stands in older traces alone, for what is `Skipped`
    now.
    """

    kind: Literal["subgoal_closed"] = "subgoal_closed"
    status: Status
    answer: str
    reason: str = ""
    steps: int
    cost_micro_usd: int | None
    skipped: bool = False
    layer: str = ""


class DoneBefore(BaseModel):
    """A piece of work that an earlier run finished: ``trace`` is where the evidence of it is, ``sha256`` the digest of
    the result that was found and handed on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: str
    goal: str
    title: str
    trace: str
    sha256: str


class Skipped(Event):
    """Work that was not begun, since it was done before. A long list is told in several of these."""

    kind: Literal["skipped"] = "skipped"
    items: list[DoneBefore]


class RunClosed(Event):
    """The last event of a complete trace."""

    kind: Literal["run_closed"] = "run_closed"
    status: Status
    answer: str
    reason: str = ""
    steps: int
    cost_micro_usd: int | None


AnyEvent: TypeAlias = Annotated[
    RunOpened
    | SubgoalOpened
    | FrameTaken
    | RequestSent
    | ReplyReceived
    | CallFailed
    | Decided
    | Located
    | JudgedQuestion
    | TookStock
    | Corrected
    | Permitted
    | ActionIntended
    | ActionDone
    | ActionFailed
    | Judged
    | FieldRead
    | LookedAgain
    | Repeated
    | StepTimed
    | HandedOver
    | StateSeen
    | Interrupted
    | Backtracked
    | LayerChanged
    | TakenBack
    | Inventoried
    | FileGiven
    | FileArrived
    | KillSeen
    | SubgoalClosed
    | Skipped
    | RunClosed,
    Field(discriminator="kind"),
]


class Record(BaseModel):
    """An event in its place in the trace of a run.

    ``previous`` is the SHA-256 of the whole line of the record before (64 zeros for the first), so a record cannot
    be moved or dropped without all later ones showing it. ``signature`` is the Ed25519 signature (hex) of the
    canonical JSON of the record without its signature, so each record shows by itself whether it was changed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    seq: int
    at: str
    previous: str
    event: AnyEvent
    signature: str


class Anchor(BaseModel):
    """A head of a trace, kept apart from it: record ``seq`` of ``run`` has a line with the SHA-256 ``head``.

    It is signed as a record is. ``delivered`` is how many records had reached the place the trace is read from: of a
    trace in a bucket, fewer than there are while the rest waits in a spool.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    seq: int
    head: str
    delivered: int
    at: str
    signature: str


RECORD: TypeAdapter[Record] = TypeAdapter(Record)
FIRST = "0" * 64
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""What the id of a run looks like: it names a folder, and is part of the names of objects."""
LONGEST_LINE = 16 * 1024 * 1024
"""No record is longer, in bytes: what reads a trace need not hold more."""
