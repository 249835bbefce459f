"""A repaint between an answer and the sample that notices the answer counts as the answer's effect."""

from __future__ import annotations

from holo_tasks.desktop.readiness.exchanges import TIMES, Exchanges
from holo_tasks.desktop.readiness.tcp_table import TcpSocket

PATIENCE_S = 15.0


class Talk:
    """A program that sends the same form over one connection. The answer arrives after 1 s, and is drawn 5 ms later.

    The sample that notices the answer is taken 20 ms after it.
    """

    def __init__(self) -> None:
        self.drawn_s: list[float] = []
        self.exchanges = Exchanges(
            lambda begin_s, end_s, elsewhere: any(begin_s < each <= end_s for each in self.drawn_s)
        )
        self.sent, self.received = 900, 900
        self.exchanges.update(0.0, [self._socket(10_000, 9_999)], idle=True)

    def _socket(self, sent_ago_ms: int, received_ago_ms: int) -> TcpSocket:
        return TcpSocket(
            inode=1,
            peer="10.0.0.5:443",
            sent=self.sent,
            received=self.received,
            sent_ago_ms=sent_ago_ms,
            received_ago_ms=received_ago_ms,
        )

    def send(self, at_s: float) -> str:
        """Send the form; return the server that is awaited until it answers."""
        self.exchanges.begin(at_s, [self._socket(2000, 2000)])
        self.sent += 500
        self.exchanges.update(at_s + 0.03, [self._socket(20, 2030)])
        return self.exchanges.waiting_for(at_s + 0.5, PATIENCE_S)

    def answer(self, at_s: float) -> None:
        self.received += 2000
        self.drawn_s.append(at_s + 0.005)
        self.exchanges.update(at_s + 0.02, [self._socket(1000, 20)])


def test_an_answer_drawn_before_it_is_noticed_is_not_awaited_again() -> None:
    talk = Talk()
    assert talk.send(10.0)
    talk.answer(11.0)
    assert not talk.exchanges.waiting_for(11.02, PATIENCE_S)
    assert not talk.exchanges.answer_will_show(11.02)


def test_an_answer_that_closes_the_connection_may_also_be_drawn_before_it_is_noticed() -> None:
    talk = Talk()
    assert talk.send(10.0)
    talk.drawn_s.append(11.005)
    talk.exchanges.update(11.0, [talk._socket(990, 2990)])
    talk.exchanges.update(11.02, [])
    assert not talk.exchanges.answer_will_show(11.02)


def test_a_form_sent_again_and_again_does_not_count_as_background_traffic() -> None:
    talk = Talk()
    for number in range(2 * TIMES):
        assert talk.send(10.0 * (number + 1)), f"after {number} times"
        talk.answer(10.0 * (number + 1) + 1)
        talk.exchanges.update(10.0 * (number + 1) + 2, [talk._socket(2000, 1000)])


def test_a_request_after_the_last_answer_on_a_new_connection_is_awaited() -> None:
    """A page requests its picture as soon as it has loaded, and one sample notices both. The counters may look like
    TLS.
    """
    drawn_s: list[float] = []
    exchanges = Exchanges(lambda begin_s, end_s, elsewhere: any(begin_s < each <= end_s for each in drawn_s))
    exchanges.update(0.0, [])
    exchanges.update(1.0, [TcpSocket(1, "10.0.0.5:80", 637, 822, 20, 10, segments_out=1, segments_in=2)])
    drawn_s.append(1.0)
    exchanges.begin(10.0, [TcpSocket(1, "10.0.0.5:80", 637, 822, 9020, 9010, segments_out=1, segments_in=2)])
    exchanges.update(10.32, [TcpSocket(1, "10.0.0.5:80", 2020, 1603, 284, 296, segments_out=3, segments_in=4)])
    drawn_s.append(10.06)
    assert exchanges.waiting_for(10.33, PATIENCE_S) == "10.0.0.5:80"
