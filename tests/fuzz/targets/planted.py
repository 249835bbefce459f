"""Planted defects of every kind that the harness must find, and one target without a defect."""

from __future__ import annotations

import os
import time

from tests.fuzz.target import Target, check

_kept: list[bytes] = []
SEEDS = [b"fine 1", b"fine 2"]


def _raises(data: bytes) -> int:
    check(len(data) < 5000, "an input is long")
    return {}["there"] if b"good" in data else 0


def _sleeps(data: bytes) -> None:
    if data not in SEEDS:
        time.sleep(3600)


def _computes(data: bytes) -> None:
    while data not in SEEDS:
        pass


def _deaf(data: bytes) -> None:
    if data not in SEEDS:
        sum(range(10**12))  # in C, where no signal handler runs


def _hoards(data: bytes) -> int:
    return len(bytearray(1 << 30)) if data not in SEEDS else 0


def _keeps(data: bytes) -> None:
    _kept.append(os.urandom(1 << 18))


def _dies(data: bytes) -> None:
    if data not in SEEDS:
        os.abort()


def _fine(data: bytes) -> int:
    return int(data[5:])


TARGETS = [
    Target("raises", _raises, lambda: SEEDS, words=(b"good",)),
    Target("sleeps", _sleeps, lambda: SEEDS),
    Target("computes", _computes, lambda: SEEDS, cpu_s=0.3),
    Target("deaf", _deaf, lambda: SEEDS, cpu_s=0.3),
    Target("hoards", _hoards, lambda: SEEDS, memory_mb=200),
    Target("keeps", _keeps, lambda: SEEDS, quick=10),
    Target("dies", _dies, lambda: SEEDS),
    Target("fine", _fine, lambda: SEEDS, expected=(ValueError,)),
]
