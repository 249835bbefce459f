"""Freed pictures leave their memory to the next ones, and an idle process returns it."""

from __future__ import annotations

import asyncio
import queue
import subprocess
import sys
from typing import Any

import pytest
from PIL import Image

from holo_tasks.desktop.session import host
from holo_tasks.machine import memory
from holo_tasks.vision import ocr_reader

PICTURES = """
import ctypes, resource, sys
from holo_tasks.machine import memory

def taken():
    with open("/proc/self/statm") as told:
        pages = int(told.read().split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt, pages

ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE: where pages are huge, there are few to count
for how in sys.argv[1:]:
    getattr(memory, how)()
def pictures(several):
    for _ in range(several):
        held = [bytearray(4_000_000), bytearray(3_000_000)]
    return [bytes(1)]
pictures(3)
before = taken()[0]
pictures(50)
faults, pages = taken()
memory.return_free_memory()
print(faults - before, pages - taken()[1])
"""
EACH = 7_000_000 // 4096
"""Pages of the pictures that are freed in one round."""


def counted(*how: str) -> tuple[int, int]:
    """Return the page faults of a process in 50 rounds of pictures, and the pages that it returned afterwards."""
    said = subprocess.run([sys.executable, "-c", PICTURES, *how], capture_output=True, text=True, check=True).stdout
    faults, given_back = said.split()
    return int(faults), int(given_back)


def test_the_memory_of_pictures_is_reused_and_returned() -> None:
    faults, given_back = counted("reuse")
    assert faults < EACH, "not even one round got new memory"
    assert given_back > EACH / 2


def test_return_freed_blocks_allocates_pictures_anew() -> None:
    faults, given_back = counted("return_freed_blocks")
    assert faults > 45 * EACH
    assert given_back < EACH / 2


def test_a_process_with_ocr_returns_larger_blocks_at_once() -> None:
    code = """
import sys
from holo_tasks.machine import memory

def megabytes():
    with open("/proc/self/statm") as told:
        return int(told.read().split()[1]) // 256

for how in sys.argv[1:]:
    getattr(memory, how)()
before = megabytes()
large = [bytearray(12 << 20) for _ in range(5)]
above = [bytearray(2_000) for _ in range(2_000)]
del large
print(megabytes() - before)
"""
    kept = [
        int(subprocess.run([sys.executable, "-c", code, *how], capture_output=True, text=True, check=True).stdout)
        for how in (["reuse"], ["reuse", "return_larger_than_screens"])
    ]
    assert kept[0] > 40
    assert kept[1] < 20


def test_a_reader_returns_memory_after_each_new_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    monkeypatch.setattr(ocr_reader, "return_free_memory_soon", lambda: given.append("back"))
    reader = ocr_reader.Reader()
    for color in ("white", "white", "blue"):
        reader.read(Image.new("RGB", (64, 64), color))
    assert given == ["back", "back"], "not for the picture that it remembers"


def test_frequent_work_returns_memory_once_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    given: queue.SimpleQueue[str] = queue.SimpleQueue()
    monkeypatch.setattr(memory, "return_free_memory", lambda: given.put("back"))
    monkeypatch.setattr(memory, "QUIET_S", 0.3)
    for _ in range(2):  # also after it was returned once
        for _ in range(5):
            memory.return_free_memory_soon()
        assert given.empty()
        assert given.get(timeout=30) == "back"
    with pytest.raises(queue.Empty):
        given.get(timeout=0.6)


async def test_memory_is_returned_after_a_while_of_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    monkeypatch.setattr(memory, "return_free_memory", lambda: given.append("back"))
    monkeypatch.setattr(memory, "QUIET_S", 60)
    with memory.returning_free_memory():
        await asyncio.sleep(0)
    monkeypatch.setattr(memory, "QUIET_S", 0.0)
    assert given == []
    with memory.returning_free_memory():
        while not given:
            await asyncio.sleep(0.001)
    assert given == ["back"]


def test_an_idle_desktop_process_returns_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    desk: Any = host.Host.__new__(host.Host)
    desk._requests = queue.SimpleQueue()
    given: list[str] = []

    def give_back() -> None:
        given.append("back")
        desk._requests.put("late")

    monkeypatch.setattr(host, "return_free_memory", give_back)
    monkeypatch.setattr(host, "QUIET_S", 60)
    desk._requests.put("at once")
    assert (desk._next(), given) == ("at once", [])
    monkeypatch.setattr(host, "QUIET_S", 0.001)
    assert (desk._next(), given) == ("late", ["back"])
