"""Finds requests on TCP connections that still wait for an answer, by the kernel's counters alone.

The contents are never read, so encryption does not matter. All times are seconds of `time.monotonic`.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from holo_tasks.desktop.readiness.tcp_table import TcpSocket

CONNECTING_S = 3.0
"""Seconds to wait for a connection. A server that has not accepted it by then is probably behind a firewall."""
QUICK_MS, SMALL_BYTES = 30, 96
"""An answer of fewer than ``SMALL_BYTES`` within the round trip and ``QUICK_MS`` more may be no answer: an HTTP/2
server confirms a ping or a window at once, and sends its answer later."""
REPLY_BYTES = 48
"""A single segment of at most this size, sent after the last data arrived, may be a reply and no request."""
HANDSHAKE_ANSWERS, HANDSHAKE_SEGMENTS = 2, 2
HANDSHAKE_SENT, HANDSHAKE_RECEIVED, HANDSHAKE_MOST = 400, 300, 8192
"""A connection may be agreeing on encryption until its second answer. By then it has sent 400 bytes or more and
received 300 to 8192, in two segments or more each way. The last of these bytes may be the session tickets that a TLS
1.3 server sends right after the handshake."""
DOUBT_S = 1.5
"""A doubtful answer is doubted for this time. It is doubted for half the patience on a connection that may be agreeing
on encryption, or whose server has confirmed requests before it answered them, unless the program is starting."""
SOON_S, SHOWS_S, LEARNT_S = 0.15, 0.5, 1.0
"""Seconds that a program has to show an answer.

``SHOWS_S`` is usual, because Java delays its drawing. ``SOON_S`` applies if the input has had another effect. An answer
that shows nothing within ``LEARNT_S``, or by the next input if that follows after ``SOON_S``, has no effect on the
screen.
"""
TIMES, ALIKE_BYTES = 3, 8
"""Requests whose sizes differ by no more than ``ALIKE_BYTES`` are alike. Alike requests are background talk after
``TIMES`` answers in a row without an effect on the screen."""
ONLY_SENDS, WHILE_IDLE, TRICKLE_BYTES = 12, 4, 64
"""A connection only sends after ``ONLY_SENDS`` sends without an answer. A send while the agent is idle counts
``WHILE_IDLE`` times. A send of more than ``TRICKLE_BYTES`` counts only then, because it may be part of an upload."""
BEFORE_S = 0.004
"""The kernel rounds the ages of data to its timer, so a request may seem older than it is by this time."""
AGAIN_BYTES = 16
"""A long poll is repeated once it is answered. Its size then differs by at most this many bytes."""
ANSWERING_S = 3.0
"""An answer in several pieces is followed for this many seconds."""
MOST_SIZES, MOST_PEERS = 64, 1024

DrawnBetween = Callable[[float, float, bool], bool]
"""Returns whether anything was repainted between two moments. If the third argument is true, repaints at the place of
the input do not count, because a button draws there that it was pressed.
"""


@dataclass(slots=True)
class Request:
    """Data that a program has sent and that has no answer yet.

    ``followed_input`` is true if it was sent after the last input, and not by habit. ``answered_s`` is set while it is
    doubtful whether the received bytes are the answer. ``after_answer`` is true for a request that was sent after an
    earlier answer had changed the screen. Such a request loads a further part of the page. ``is_guess`` is true if only
    the number of segments indicates such a request.
    """

    since_s: float
    size: int
    followed_input: bool
    after_answer: bool = False
    answered_s: float | None = None
    is_guess: bool = False


@dataclass(slots=True)
class _ConnectionState:
    """The state of one connection.

    ``answers`` counts the answers since it was made. The first ones may be part of a TLS handshake.
    """

    last: TcpSocket
    answers: int = 0
    confirms: bool = False
    """Whether its server has sent a few bytes at once and more later, as an HTTP/2 server does."""
    request: Request | None = None
    unanswered_sends: int = 0
    only_sends: bool = False
    answering_since_s: float = -math.inf
    """When the answer to the last request began, if that request followed the input."""


@dataclass(slots=True)
class _Answer:
    """An answered request whose effect on the screen is not known yet."""

    peer: str
    size: int
    at_s: float


@dataclass(slots=True)
class _RequestHabits:
    """Sizes of requests to one server, each with how often in a row it had no effect on the screen."""

    sizes: dict[int, int] = field(default_factory=dict)

    def is_background(self, size: int) -> bool:
        return any(abs(size - known) <= ALIKE_BYTES and times >= TIMES for known, times in self.sizes.items())

    def note(self, size: int, *, effect: bool, times: int = 1) -> None:
        known = next((known for known in self.sizes if abs(size - known) <= ALIKE_BYTES), size)
        self.sizes[known] = 0 if effect else self.sizes.get(known, 0) + times
        if len(self.sizes) > MOST_SIZES:
            self.sizes.pop(next(iter(self.sizes)))


class Exchanges:
    """Follows the connections of the programs on one desktop from sample to sample."""

    def __init__(self, drawn_between: DrawnBetween) -> None:
        self._drawn_between = drawn_between
        self._talks: dict[int, _ConnectionState] | None = None
        self._habits: OrderedDict[str, _RequestHabits] = OrderedDict()
        self._answers: list[_Answer] = []
        self._input_s = self._updated_s = -math.inf
        self._repeats: deque[tuple[str, int]] = deque(maxlen=MOST_SIZES)
        self._ended_s = self._shows_from_s = -math.inf
        self._starting = False
        self.sent = False
        """Whether a program sent a request since the last input that is not known as background talk."""

    def begin(self, now_s: float, sockets: Sequence[TcpSocket], *, keep: bool = False, starting: bool = False) -> None:
        """Record that an input is sent now, or that a program is ``starting``.

        With ``keep``, requests after the previous input are still awaited. Without it, a request that is already
        pending is background talk: a long poll, or a request that was awaited in vain.
        """
        self.update(now_s, sockets)
        self._judge_answers(now_s, SOON_S)
        self._starting = starting
        if keep:
            return
        for talk in (self._talks or {}).values():
            if talk.request is not None and talk.request.answered_s is not None:
                self._note_answer(talk, now_s)
            elif talk.request is not None:
                talk.request.followed_input = False
        self._input_s, self.sent = now_s, False
        self._repeats.clear()
        self._answers.clear()

    def update(self, now_s: float, sockets: Sequence[TcpSocket], *, idle: bool = False) -> None:
        """Add a new sample. ``idle`` is true while the agent neither acts nor waits for an effect."""
        first, known = self._talks is None, self._talks or {}
        talks = {}
        for seen in sockets:
            talk = known.get(seen.inode)
            if talk is None:
                old = first or (seen.sent and now_s - seen.sent_ago_ms / 1000 < self._updated_s)
                talk = (
                    _ConnectionState(seen, HANDSHAKE_ANSWERS)
                    if old
                    else _ConnectionState(TcpSocket(seen.inode, seen.peer))
                )
            self._compare(talk, seen, now_s, idle=idle)
            talks[seen.inode] = talk
        for inode, gone in known.items():
            if inode not in talks and gone.request is not None:
                self._note_answer(gone, now_s, ended=True)
        self._talks, self._updated_s = talks, now_s
        self._judge_answers(now_s, LEARNT_S)

    def waiting_for(self, now_s: float, patience_s: float) -> str:
        """Return the server that a program waits for since the last input, or an empty string.

        An example is ``10.0.0.5:443``.
        """
        for talk in (self._talks or {}).values():
            request = talk.request
            if request is not None and request.followed_input and self._is_awaited(talk, request, now_s, patience_s):
                return talk.last.peer
        return ""

    def answer_will_show(self, now_s: float) -> bool:
        """Return whether a request after the input has just been answered, and nothing was drawn since.

        Requests that a page makes after it was drawn do not count, because they need not change it.
        """
        came_s = self._shows_from_s
        if now_s >= came_s + SHOWS_S or self._drawn_between(came_s, now_s, False):
            return False
        return now_s < came_s + SOON_S or not self._drawn_between(self._input_s, came_s, True)

    @property
    def ended_s(self) -> float:
        """When the last request after the input was answered."""
        return self._ended_s

    def gave_up(self) -> None:
        """Record that the patience is over. Requests of these sizes to these servers are not awaited again."""
        for talk in (self._talks or {}).values():
            if talk.request is not None and talk.request.followed_input:
                self._habit(talk.last.peer).note(talk.request.size, effect=False, times=TIMES)

    def _compare(self, talk: _ConnectionState, seen: TcpSocket, now_s: float, *, idle: bool) -> None:
        before, talk.last = talk.last, seen
        sent, received = seen.sent - before.sent, seen.received - before.received
        if seen.connecting:
            if talk.request is None:
                self._new_request(talk, 0, now_s, idle=idle)
            return
        if talk.request is not None and not (talk.request.size or sent):
            talk.request = None  # connected ahead of any request, as browsers do
        if received and talk.request is not None and talk.request.answered_s is None and not sent:
            self._note_received(talk, seen, now_s, received)
        elif received and talk.request is not None:
            # Either more data follows the doubtful answer, or the program has sent its next request.
            doubtful = talk.request.answered_s is not None
            talk.confirms = talk.confirms or (doubtful and not sent)
            self._note_answer(talk, now_s)
            if sent and (doubtful or seen.received_ago_ms < seen.sent_ago_ms):
                self._note_exchange(talk, before, seen, now_s, idle=idle)
            elif sent and not _is_reply(before, seen):
                request = self._new_request(talk, sent, now_s, idle=idle)
                same_tick = seen.received_ago_ms == seen.sent_ago_ms
                if same_tick and seen.segments_in - before.segments_in > seen.segments_out - before.segments_out:
                    request.answered_s = now_s - seen.received_ago_ms / 1000  # it may be
        elif sent and not received:
            self._note_sent(talk, sent, now_s, idle=idle)
        elif sent:
            self._note_exchange(talk, before, seen, now_s, idle=idle)
        elif received and now_s < talk.answering_since_s + ANSWERING_S:
            self._ended_s = now_s - seen.received_ago_ms / 1000
        talk.unanswered_sends = 0 if received else talk.unanswered_sends
        talk.only_sends = talk.only_sends and not received

    def _note_sent(self, talk: _ConnectionState, size: int, now_s: float, *, idle: bool) -> None:
        if talk.request is None or talk.request.answered_s is not None:
            self._new_request(talk, size, now_s, idle=idle)
        else:
            talk.request.size += size
        talk.unanswered_sends += WHILE_IDLE if idle else size <= TRICKLE_BYTES
        if talk.unanswered_sends >= ONLY_SENDS:
            talk.only_sends = True

    def _note_exchange(
        self, talk: _ConnectionState, before: TcpSocket, seen: TcpSocket, now_s: float, *, idle: bool
    ) -> None:
        """Record the exchange between two samples in which data went both ways, and no request was pending before."""
        size = seen.sent - before.sent
        if seen.received_ago_ms < seen.sent_ago_ms:
            self._new_request(talk, size, now_s, idle=idle)
            self._note_received(talk, seen, now_s, seen.received - before.received)
            return
        out, back = seen.segments_out - before.segments_out, seen.segments_in - before.segments_in
        if seen.received_ago_ms > seen.sent_ago_ms:
            if not _is_reply(before, seen):
                self._new_request(talk, size, now_s, idle=idle)
        elif _may_be_handshake(talk) and out <= back:
            self._new_request(talk, size, now_s, idle=idle).answered_s = now_s - seen.received_ago_ms / 1000
        else:  # too quick to tell apart
            self._new_request(talk, size, now_s, idle=idle)
            self._note_answer(talk, now_s)
            if out > back:  # the answer to the first request may have led to a second one
                self._new_request(talk, size, now_s, idle=idle).is_guess = True

    def _new_request(self, talk: _ConnectionState, size: int, now_s: float, *, idle: bool) -> Request:
        peer, since_s = talk.last.peer, now_s - talk.last.sent_ago_ms / 1000 if talk.last.sent else now_s
        by_habit = idle or talk.only_sends or self._is_repeat(peer, size) or self._habit(peer).is_background(size)
        followed = not by_habit and since_s >= self._input_s - BEFORE_S
        talk.request = Request(since_s, size, followed, after_answer=self._drew_since_input(now_s))
        self.sent = self.sent or followed
        return talk.request

    def _note_received(self, talk: _ConnectionState, seen: TcpSocket, now_s: float, received: int) -> None:
        """Take the received bytes as the answer, unless they may be part of the protocol."""
        assert talk.request is not None
        delay_ms = seen.sent_ago_ms - seen.received_ago_ms
        doubtful = delay_ms <= seen.round_trip_ms + QUICK_MS and (received < SMALL_BYTES or (_may_be_handshake(talk)))
        if doubtful and not self._habit(seen.peer).is_background(talk.request.size):
            talk.request.answered_s = now_s - seen.received_ago_ms / 1000
        else:
            self._note_answer(talk, now_s)

    def _note_answer(self, talk: _ConnectionState, now_s: float, *, ended: bool = False) -> None:
        """Record that the last data answered the request, or that the connection has ``ended``."""
        request = talk.request
        assert request is not None
        # The program may draw the answer before the sample in which the connection is found to be closed.
        at_s = max(self._updated_s if ended else now_s - talk.last.received_ago_ms / 1000, request.since_s)
        talk.answering_since_s = at_s if request.followed_input else -math.inf
        if request.followed_input:
            self._ended_s = max(self._ended_s, at_s)
            if not (request.after_answer or self._habit(talk.last.peer).is_background(request.size)):
                self._shows_from_s = max(self._shows_from_s, at_s)
        else:
            self._repeats.append((talk.last.peer, request.size))
        self._answers.append(_Answer(talk.last.peer, request.size, at_s))
        talk.request = None
        talk.answers += 1

    def _judge_answers(self, now_s: float, within_s: float) -> None:
        """Learn which requests have an effect on the screen within some time."""
        left = []
        for answer in self._answers:
            effect = self._drawn_between(answer.at_s, min(now_s, answer.at_s + within_s), False)
            if effect or now_s >= answer.at_s + within_s:
                self._habit(answer.peer).note(answer.size, effect=effect)
            else:
                left.append(answer)
        self._answers = left

    def _is_awaited(self, talk: _ConnectionState, request: Request, now_s: float, patience_s: float) -> bool:
        if self._habit(talk.last.peer).is_background(request.size) or talk.only_sends:
            return False
        limit_s = patience_s
        if talk.last.connecting:
            limit_s = min(limit_s, CONNECTING_S)
        if request.after_answer or request.answered_s is not None or request.is_guess:
            limit_s /= 2
        if self._starting:
            limit_s = min(limit_s, patience_s / 3)
        long = not self._starting and (talk.confirms or _may_be_handshake(talk))
        if (request.answered_s is not None or request.is_guess) and not long:
            limit_s = min(limit_s, DOUBT_S)
        if now_s < request.since_s + limit_s:
            return not (request.answered_s is not None and self._drawn_between(request.answered_s, now_s, True))
        self._habit(talk.last.peer).note(request.size, effect=False, times=TIMES)
        return False

    def _is_repeat(self, peer: str, size: int) -> bool:
        """Return whether a request repeats one that was pending before the input and has been answered.

        Each pending request counts once.
        """
        for repeat in self._repeats:
            if repeat[0] == peer and abs(repeat[1] - size) <= AGAIN_BYTES:
                self._repeats.remove(repeat)
                return True
        return False

    def _drew_since_input(self, now_s: float) -> bool:
        ended = self._ended_s
        return math.isfinite(ended) and ended >= self._input_s and self._drawn_between(ended, now_s, False)

    def _habit(self, peer: str) -> _RequestHabits:
        if peer not in self._habits and len(self._habits) >= MOST_PEERS:
            self._habits.popitem(last=False)
        return self._habits.setdefault(peer, _RequestHabits())


def _is_reply(before: TcpSocket, seen: TcpSocket) -> bool:
    """Return whether the data sent after the last arrival may be a reply, such as the pong of a web socket."""
    return seen.segments_out - before.segments_out <= 1 and seen.sent - before.sent <= REPLY_BYTES


def _may_be_handshake(talk: _ConnectionState) -> bool:
    seen = talk.last
    return (
        talk.answers < HANDSHAKE_ANSWERS
        and seen.sent >= HANDSHAKE_SENT
        and HANDSHAKE_RECEIVED <= seen.received <= HANDSHAKE_MOST
        and min(seen.segments_out, seen.segments_in) >= HANDSHAKE_SEGMENTS
    )
