"""Signs that a program worked on the last input."""

from __future__ import annotations

from dataclasses import dataclass

PATIENCE_S = 15.0
"""Default of the seconds after an input for which a desktop waits for a program that still works on it."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Signs that the programs on a desktop worked on the last input, up to the capture of a frame.

    ``known`` is false if the desktop cannot observe any of these signs; the other fields then mean nothing. ``sent`` is
    true if a program sent bytes over the network after the input. ``computed`` is true if a program used more CPU time
    than usual. ``repainted`` is true if anything on the screen was repainted.

    ``waiting_for`` names the work that was still in progress at the capture, when the patience was over, such as ``"its
    server"``. It is empty if the program was done. ``detail`` names the address or program that the wait was for; it is
    for people on this machine. ``waited_ns`` is the time in nanoseconds by which work in progress delayed the capture.
    ``unseen`` names the signs that the desktop cannot observe, each with the reason.
    """

    known: bool = False
    sent: bool = False
    computed: bool = False
    repainted: bool = False
    waiting_for: str = ""
    detail: str = ""
    waited_ns: int = 0
    unseen: tuple[str, ...] = ()

    @property
    def pending_work(self) -> str:
        """The work that was still in progress, with its address or program if known."""
        return f"{self.waiting_for} ({self.detail})" if self.detail else self.waiting_for

    @property
    def sentence(self) -> str:
        """The sentence for the model about a program that was still working; empty if it was done."""
        if not self.waiting_for:
            return ""
        return f"The program has been waiting for {self.waiting_for} for {max(1, round(self.waited_ns / 1e9))} s."

    @property
    def works(self) -> bool:
        """Whether a program worked on the last input when the desktop began to wait for the capture."""
        return bool(self.waited_ns or self.waiting_for)

    @property
    def had_no_effect(self) -> bool:
        """Whether the last input certainly had no effect: no byte sent, no CPU time, no repaint."""
        return self.known and not (self.sent or self.computed or self.repainted)


UNKNOWN = Activity()
