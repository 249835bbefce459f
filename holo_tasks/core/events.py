"""The events of a trace: a closed set of small typed records.

Every value is a string, an integer, a boolean, null, or a list or object of these. So the canonical JSON of an event is
unique. Money is in integer micro-USD and durations are in integer microseconds. Times are RFC 3339 strings in UTC.
Pictures are named by the SHA-256 of their bytes.
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
"""Purpose of a model call: the next step, a place on the screen, or a judgement."""


class Event(BaseModel):
    """Base of all events, with their place in the run.

    ``subgoal`` is 0 for events of the run itself, else the sub-goal's number in this run, from 1. ``step`` is 0 before
    the first step of the sub-goal.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    subgoal: int = 0
    step: int = 0


class RunOpened(Event):
    """The first event of a trace.

    ``signed_by`` is the fingerprint of the key that signs this trace: the SHA-256 of its SubjectPublicKeyInfo (DER).
    """

    kind: Literal["run_opened"] = "run_opened"
    run_id: str
    title: str
    library: str
    flow_run_id: str = ""
    display: str = ""
    model: str = ""
    signed_by: str = ""


class SubgoalOpened(Event):
    """A sub-goal begins with an empty history. ``progress`` is a text such as ``step 2 of 4: look up …``.

    ``playbook`` identifies the playbook that works on it: its goal, with the version of a learned one or the SHA-256 of
    its file. ``macros`` are the names of the macros that the model may call. ``press_once`` are the labels of buttons
    that have the sub-goal's effect.
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
    """An area that was painted over: the reason, and ``[left, top, width, height]`` in screen pixels.

    The hidden content is never recorded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    box: list[int]


class FrameTaken(Event):
    """A settled, redacted and encoded picture; its bytes are in ``frames/<sha256>.<ext>``.

    ``region`` is the part of the screen it shows as ``[left, top, width, height]``; empty for the whole screen.
    ``correction`` holds the factor and offset in thousandths, across and down, that correct the model's coordinates;
    empty for none. ``windows`` are the titles of its windows, topmost first, without those that must not leave the
    machine.

    ``quiet_us`` is the time from the last repaint to the capture. ``settled`` is false if the screen was still changing
    at the time limit. ``settle_us`` is the time until the screen was ready. It includes ``waited_us``, the time spent
    on work in progress of the program. ``waiting_for`` names the work that was still in progress when the patience was
    over; empty if the program was done. ``unseen`` names the signs of work that the desktop cannot observe, each with
    the reason.
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
    """A model is about to be called. ``shots`` are the pictures in the request, oldest first."""

    kind: Literal["request"] = "request"
    purpose: Purpose = "step"
    attempt: int
    model: str
    endpoint: str
    shots: list[str]
    messages: int
    prompt_sha256: str


class ReplyReceived(Event):
    """A reply and its bill. ``estimated`` marks a cost that was computed without the server's usage."""

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
    """A request without a reply: the reason, and whether it is tried again."""

    kind: Literal["call_failed"] = "call_failed"
    attempt: int
    reason: str
    transient: bool


class Decided(Event):
    """The parsed step: the model's note, its reasoning and its tool call (coordinates in thousandths of the picture).

    ``unsure`` is why a step of a person cannot be repeated from its picture; empty for any other step.
    ``confidence`` is empty unless the model gave one. ``cached`` says that the model was not called, because it had
    decided on the same screen, history and goal before. ``macro`` names the macro that the model called and that this
    step belongs to.
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
    unsure: str = ""


class Located(Event):
    """The place of something: a point in screen pixels, or empty if it is not on the screen.

    ``by`` is the source of the place: accessibility, text read on the screen, or the model. It is empty in older
    traces, in which only the model was used. ``why`` is the reason for using the model.
    """

    kind: Literal["location"] = "location"
    description: str
    point: list[int]
    mark: int | None = None
    by: str = ""
    why: str = ""


class JudgedQuestion(Event):
    """The answer of a second model to a question that is not about navigation."""

    kind: Literal["judgement"] = "judgement"
    question: str
    model: str
    answer: str
    reason: str = ""


class TookStock(Event):
    """The model was warned that it repeats itself. ``strip`` is the picture of its last actions, if it was shown."""

    kind: Literal["take_stock"] = "take_stock"
    reason: str
    strip: str = ""


class Corrected(Event):
    """The reply was not usable. ``reason`` is the correction that the model got before it was asked again."""

    kind: Literal["correction"] = "correction"
    reason: str


class Permitted(Event):
    """The decision whether the action is allowed, and the rule that decided."""

    kind: Literal["permit"] = "permit"
    allowed: bool
    rule: str


class ActionIntended(Event):
    """Written before the first input event of an action. ``gesture`` is in screen pixels.

    ``element`` is the element that the action hits, according to the accessibility tree: its role, name and
    application, without private texts. It is empty if the tree has no such element, or was not read in time. Further
    facts may follow, such as ``within``, ``checked`` or ``column`` (`core.elements.element_anchors.anchors_of`).
    """

    kind: Literal["action"] = "action"
    gesture_kind: str
    gesture: dict[str, JsonValue]
    label: str
    before: str
    element: dict[str, str] = {}


class ActionDone(Event):
    """All input events of the action were sent."""

    kind: Literal["receipt"] = "receipt"
    took_us: int
    input_events: int


class ActionFailed(Event):
    """The action was not completed."""

    kind: Literal["action_failed"] = "action_failed"
    reason: str


class Judged(Event):
    """The verdict on the step's action.

    ``before`` and ``after`` are pictures. ``changed_box`` is ``[left, top, width, height]`` in screen pixels; empty if
    nothing changed. The outcome ``elsewhere`` means a change that is not near the target. ``state`` is the recognized
    state of the screen, if states are declared.
    """

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
    """The screen changed after the decision and before the input. Nothing was pressed."""

    kind: Literal["looked_again"] = "looked_again"
    reason: str


class Repeated(Event):
    """A click without a visible change is done once more, moved by this many pixels. It was declared safe to repeat."""

    kind: Literal["repeated"] = "repeated"
    reason: str
    dx: int
    dy: int


class StepTimed(Event):
    """The time that a step spent on deciding, acting, waiting for the program, and perceiving the result.

    The rest of ``total_us`` is overhead: recording, comparing, Prefect.
    """

    kind: Literal["step_timed"] = "step_timed"
    perceive_us: int
    decide_us: int
    act_us: int
    total_us: int
    waiting_us: int = 0


class HandedOver(Event):
    """A person is asked. ``handoff`` is the id of the hand-off if the agent waits for the answer."""

    kind: Literal["handoff"] = "handoff"
    question: str
    handoff: str = ""


class TakenBack(Event):
    """A person has given the screen back, with a choice, a note and a name.

    The person's actions are not recorded.
    """

    kind: Literal["taken_back"] = "taken_back"
    handoff: str
    choice: str
    note: str
    by: str


class StateSeen(Event):
    """The screen was recognized as the declared state ``state``; empty for an undeclared screen.

    ``wanted`` is the required state, if any, and ``how`` describes the reaction.
    """

    kind: Literal["state"] = "state"
    state: str
    wanted: str = ""
    how: str = ""


class Interrupted(Event):
    """An interruption, such as a dialog that may come at any time, is being handled.

    ``times`` counts its occurrences.
    """

    kind: Literal["interruption"] = "interruption"
    name: str
    times: int


class Backtracked(Event):
    """The layer made no progress, so its work is undone.

    ``by`` is the Escape key or the declared ways, which lead to the state ``to``.
    """

    kind: Literal["backtracked"] = "backtracked"
    by: str
    to: str = ""


class LayerChanged(Event):
    """A layer could not finish the sub-goal, and the next one continues."""

    kind: Literal["layer_changed"] = "layer_changed"
    source: str
    target: str
    reason: str


class Inventoried(Event):
    """The machine was searched for programs, windows and menus. ``told`` is the text that models get in this run."""

    kind: Literal["inventory"] = "inventory"
    told: str
    took_us: int


class FileGiven(Event):
    """A file was put into the folder that the programs on the desktop share with the agent.

    ``name`` is its name there, ``sha256`` the digest of its bytes, and ``token`` identifies its business item.
    """

    kind: Literal["file_given"] = "file_given"
    name: str
    size_bytes: int
    sha256: str
    read_only: bool
    token: str = ""


class FileArrived(Event):
    """A file that a program saved in the shared folder was complete and was taken. ``name`` is its safe name.

    If ``kept`` is true, its bytes are in ``files/<sha256>``.
    """

    kind: Literal["file_arrived"] = "file_arrived"
    name: str
    size_bytes: int
    sha256: str
    kept: bool = False
    token: str = ""


class DialogUnanswered(Event):
    """A program opened a dialog while its desktop closed, and was ended without an answer and without saving.

    ``title`` is the title of the dialog; it is empty if the dialog has none.
    """

    kind: Literal["dialog_unanswered"] = "dialog_unanswered"
    title: str


class KillSeen(Event):
    """The run was stopped from outside. ``source`` names the way; it is empty if the program cancelled its task."""

    kind: Literal["kill"] = "kill"
    reason: str
    source: str = ""


class SubgoalClosed(Event):
    """The end of a sub-goal.

    ``layer`` is the layer that found the answer: the model, a playbook, a script, an API or a person. It is empty if
    none did in this run. Older traces call a playbook a script, and use ``skipped`` instead of the event `Skipped`.
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
    """Work that an earlier run finished.

    ``trace`` is the location of its trace, and ``sha256`` the digest of the reused result.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: str
    goal: str
    title: str
    trace: str
    sha256: str


class Skipped(Event):
    """Work that was not started because an earlier run finished it. A long list is split into several events."""

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
    | DialogUnanswered
    | KillSeen
    | SubgoalClosed
    | Skipped
    | RunClosed,
    Field(discriminator="kind"),
]


class Record(BaseModel):
    """An event at its place in the trace of a run.

    ``previous`` is the SHA-256 of the whole line of the previous record (64 zeros for the first). So moving or dropping
    a record breaks all later ones. ``signature`` is the Ed25519 signature (hex) of the record's canonical JSON without
    the signature. So a change to a single record can be detected.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    seq: int
    at: str
    previous: str
    event: AnyEvent
    signature: str


class Anchor(BaseModel):
    """A signed head of a trace, stored apart from it: the line of record ``seq`` of ``run`` has the SHA-256 ``head``.

    It is signed like a record. ``delivered`` is the number of records that had reached the destination. For a trace in
    a bucket it is smaller than the number of records while the rest waits in a spool.
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
"""Form of a run's id. It names a folder and is part of object names."""
LONGEST_LINE = 16 * 1024 * 1024
"""Largest size of a record in bytes, which bounds the memory of readers."""
