"""Which requests await an answer, derived from byte and segment counters alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.desktop.readiness.exchanges import ANSWERING_S, CONNECTING_S, DOUBT_S, SHOWS_S, SOON_S, TIMES, Exchanges
from holo_tasks.desktop.readiness.tcp_table import TcpSocket

PEER = "10.0.0.5:443"
PATIENCE_S = 15.0
HTTP = TcpSocket(inode=7, peer=PEER, sent=800, received=4000, segments_out=1, segments_in=3)


class Screen:
    """The times of all repaints."""

    def __init__(self) -> None:
        self.at_s: list[float] = []
        self.of_button: set[float] = set()

    def drawn_between(self, begin_s: float, end_s: float, elsewhere: bool) -> bool:
        return any(begin_s < at_s <= end_s and not (elsewhere and at_s in self.of_button) for at_s in self.at_s)


class Line:
    """One connection with counters that grow from sample to sample, and the exchanges derived from them."""

    def __init__(self) -> None:
        self.screen = Screen()
        self.exchanges = Exchanges(self.screen.drawn_between)
        self.socket = HTTP
        self.sent_s = self.received_s = 0.0

    def sends(self, at_s: float, size: int = 500, segments: int = 1) -> None:
        self.sent_s = at_s
        more = {"sent": self.socket.sent + size, "segments_out": self.socket.segments_out + segments}
        self.socket = replace(self.socket, **more)

    def receives(self, at_s: float, size: int = 3000, segments: int = 2) -> None:
        self.received_s = at_s
        more = {"received": self.socket.received + size, "segments_in": self.socket.segments_in + segments}
        self.socket = replace(self.socket, **more)

    def _seen(self, now_s: float) -> list[TcpSocket]:
        sent_ago, received_ago = round(1000 * (now_s - self.sent_s)), round(1000 * (now_s - self.received_s))
        return [replace(self.socket, sent_ago_ms=sent_ago, received_ago_ms=received_ago)]

    def begin(self, now_s: float, *, keep: bool = False) -> None:
        self.exchanges.begin(now_s, self._seen(now_s), keep=keep)

    def rests(self, now_s: float) -> None:
        self.exchanges.update(now_s, self._seen(now_s), idle=True)

    def waits(self, now_s: float) -> bool:
        self.exchanges.update(now_s, self._seen(now_s))
        return bool(self.exchanges.waiting_for(now_s, PATIENCE_S))


@pytest.fixture
def line() -> Line:
    """A connection that is older than the input, which is sent at second 100."""
    line = Line()
    line.rests(99.0)
    line.begin(100.0)
    return line


def test_a_request_after_the_input_is_awaited_until_its_answer_arrives(line):
    line.sends(100.03)
    assert line.waits(100.05)
    assert line.exchanges.waiting_for(100.05, PATIENCE_S) == PEER
    assert line.waits(103.0)
    line.receives(103.1)
    assert not line.waits(103.11)
    assert line.exchanges.sent


def test_without_a_request_there_is_no_wait(line):
    assert not line.waits(100.05)
    assert not line.exchanges.sent


def test_an_answer_that_triggers_another_request_is_awaited(line):
    line.sends(100.03)
    assert line.waits(100.05)
    line.receives(100.4, size=300, segments=1)
    line.sends(100.4)
    assert line.waits(100.42)
    line.receives(101.0)
    assert not line.waits(101.02)


def test_a_request_after_an_answer_within_one_sample_is_awaited(line):
    line.sends(100.03)
    line.receives(100.04)
    line.sends(100.06)
    assert line.waits(100.1)


def test_answered_requests_on_two_segments_are_not_awaited(line):
    line.sends(100.03, segments=2)
    line.receives(100.08, segments=2)
    assert not line.waits(100.1)


def test_a_request_pending_before_the_input_and_its_repetition_are_not_awaited():
    line = Line()
    line.rests(90.0)
    line.sends(92.0)
    line.rests(92.1)
    line.begin(100.0)
    assert not line.waits(100.05)
    line.receives(100.2)
    line.sends(100.2)
    assert not line.waits(100.22)
    assert not line.exchanges.sent


def test_requests_of_one_size_without_effects_are_background_traffic():
    line = Line()
    line.rests(50.0)
    for number in range(TIMES):
        line.sends(60.0 + number)
        line.rests(60.05 + number)
        line.receives(60.1 + number)
        line.rests(60.15 + number)
        line.rests(60.15 + number + SHOWS_S)
    line.begin(100.0)
    line.sends(100.1, size=503)
    assert not line.waits(100.12)
    line.receives(100.13)
    line.sends(100.2, size=900)
    assert line.waits(100.22)


def test_a_request_with_an_effect_is_not_background_traffic():
    line = Line()
    line.rests(50.0)
    for number in range(TIMES):
        line.sends(60.0 + number)
        line.rests(60.05 + number)
        line.receives(60.1 + number)
        line.screen.at_s.append(60.12 + number)
        line.rests(60.15 + number)
        line.rests(60.15 + number + SHOWS_S)
    line.begin(100.0)
    line.sends(100.1)
    assert line.waits(100.12)


def test_patience_ends_and_is_not_spent_twice_on_one_request(line):
    line.sends(100.03)
    assert line.waits(114.9)
    assert not line.waits(115.1)
    line.receives(115.2)
    line.waits(115.3)
    line.begin(116.0)
    line.sends(116.1)
    assert not line.waits(116.2)


def test_inputs_without_a_capture_between_them_count_as_one(line):
    line.sends(100.03)
    line.begin(100.2, keep=True)
    assert line.waits(100.3)


def test_a_reply_to_a_servers_ping_is_not_a_request(line):
    line.receives(100.03, size=20, segments=1)
    line.sends(100.04, size=24)
    assert not line.waits(100.06)
    assert not line.exchanges.sent


def test_an_acknowledgement_with_an_answer_is_not_a_request(line):
    line.sends(100.03)
    assert line.waits(100.05)
    line.receives(100.4, size=6, segments=1)
    line.sends(100.4, size=10)
    assert not line.waits(100.42)


def test_a_server_that_does_not_accept_is_awaited_only_briefly(line):
    connecting = TcpSocket(8, "10.9.9.9:80", connecting=True)
    line.exchanges.update(100.05, [connecting])
    assert line.exchanges.waiting_for(100.1, PATIENCE_S) == "10.9.9.9:80"
    line.exchanges.update(101.0, [connecting])
    assert not line.exchanges.waiting_for(100.1 + CONNECTING_S, PATIENCE_S)


def test_a_closed_connection_counts_as_answered(line):
    line.sends(100.03)
    assert line.waits(100.05)
    line.exchanges.update(101.0, [])
    assert not line.exchanges.waiting_for(101.0, PATIENCE_S)


def test_a_connection_opened_before_any_request_is_not_awaited(line):
    line.exchanges.update(100.05, [TcpSocket(8, PEER, connecting=True)])
    line.exchanges.update(100.1, [TcpSocket(8, PEER)])
    assert not line.exchanges.waiting_for(100.1, PATIENCE_S)


def test_session_tickets_of_a_new_connection_are_not_an_answer(line):
    hello = TcpSocket(8, PEER, 1800, 1500, sent_ago_ms=12, received_ago_ms=8, segments_out=1, segments_in=1)
    line.exchanges.update(100.05, [hello])
    told = replace(hello, sent=2700, received=2010, sent_ago_ms=24, received_ago_ms=20, segments_out=3, segments_in=3)
    line.exchanges.update(100.1, [told])
    assert line.exchanges.waiting_for(100.1, PATIENCE_S) == PEER
    line.exchanges.update(102.0, [replace(told, received=9000, received_ago_ms=4, segments_in=6)])
    assert not line.exchanges.waiting_for(102.0, PATIENCE_S)


def test_a_doubtful_answer_with_a_repaint_counts_as_an_answer(line):
    new = TcpSocket(8, PEER, 1200, 430, sent_ago_ms=20, received_ago_ms=20, segments_out=2, segments_in=3)
    line.exchanges.update(100.1, [new])
    assert line.exchanges.waiting_for(100.1, PATIENCE_S)
    line.screen.at_s.append(100.12)
    assert not line.exchanges.waiting_for(100.15, PATIENCE_S)


def test_a_buttons_own_feedback_does_not_confirm_a_doubtful_answer(line):
    new = TcpSocket(8, PEER, 1200, 430, sent_ago_ms=20, received_ago_ms=20, segments_out=2, segments_in=3)
    line.exchanges.update(100.1, [new])
    line.screen.at_s.append(100.12)
    line.screen.of_button.add(100.12)
    assert line.exchanges.waiting_for(100.15, PATIENCE_S)
    line.screen.at_s.append(103.0)
    assert not line.exchanges.waiting_for(103.1, PATIENCE_S)


def test_a_connection_that_only_sends_is_not_awaited_forever():
    """A program that sends a byte every 10 ms causes no wait once it is known."""
    line = Line()
    line.rests(50.0)
    line.begin(60.0)
    waited = []
    for number in range(100):
        line.sends(60.0 + number / 100, size=1)
        waited.append(line.waits(60.005 + number / 100))
    assert waited[0]
    assert not waited[-1]


def test_an_answer_in_pieces_ends_with_its_last_piece_within_limits(line):
    line.sends(100.03)
    assert line.waits(100.05)
    line.receives(100.5)
    line.waits(100.51)
    line.receives(100.6)
    line.waits(100.61)
    assert line.exchanges.ended_s == pytest.approx(100.6)
    line.receives(100.6 + ANSWERING_S)
    line.waits(100.61 + ANSWERING_S)
    assert line.exchanges.ended_s == pytest.approx(100.6)


def test_an_answer_gets_a_moment_to_be_drawn(line):
    line.sends(100.03)
    line.waits(100.05)
    line.receives(100.5)
    line.waits(100.51)
    assert line.exchanges.answer_will_show(100.52)
    assert not line.exchanges.answer_will_show(100.51 + SHOWS_S)
    line.screen.at_s.append(100.2)
    assert line.exchanges.answer_will_show(100.52)
    assert not line.exchanges.answer_will_show(100.51 + SOON_S)
    line.screen.at_s.append(100.53)
    assert not line.exchanges.answer_will_show(100.54)


def test_an_old_connection_of_a_newly_watched_program_has_sent_no_request(line):
    old = TcpSocket(9, PEER, 5000, 9000, sent_ago_ms=4000, received_ago_ms=3990, segments_out=9, segments_in=9)
    line.exchanges.update(100.05, [old])
    assert not line.exchanges.waiting_for(100.05, PATIENCE_S)
    assert not line.exchanges.sent


def test_a_thousand_connections_at_a_click_are_followed(line):
    asking = [TcpSocket(inode, f"10.0.0.5:{inode}", 400, 0, 10, 0, 1, 0) for inode in range(1000, 2000)]
    line.exchanges.update(100.05, asking)
    assert line.exchanges.waiting_for(100.05, PATIENCE_S)
    line.exchanges.update(100.1, [])
    assert not line.exchanges.waiting_for(100.1, PATIENCE_S)


def test_a_short_quick_answer_is_doubted_briefly_unless_its_server_acknowledges_first(line):
    line.sends(100.0)
    line.waits(100.002)
    line.receives(100.005, size=30, segments=1)
    assert line.waits(100.1)
    assert line.waits(100.0 + DOUBT_S - 0.1)
    line.receives(101.45)
    assert not line.waits(101.5)
    line.begin(110.0)
    line.sends(110.0, size=900)
    line.waits(110.002)
    line.receives(110.005, size=30, segments=1)
    assert line.waits(110.0 + DOUBT_S + 1)


def test_the_doubt_ends_by_itself(line):
    line.sends(100.0)
    line.waits(100.002)
    line.receives(100.005, size=30, segments=1)
    assert line.waits(100.1)
    assert not line.waits(100.01 + DOUBT_S)


def test_a_second_request_visible_only_in_segments_is_awaited_briefly_despite_repaints(line):
    """The counters of a redirect that is followed at once: two requests and one answer within one tick."""
    line.sends(100.05, size=1500, segments=2)
    line.receives(100.05, size=160, segments=1)
    line.screen.at_s.append(100.06)
    assert line.waits(100.1)
    assert line.waits(100.05 + DOUBT_S - 0.1)
    assert not line.waits(100.06 + DOUBT_S)
