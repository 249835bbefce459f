"""Mutate bytes. The same seed gives the same mutations."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

LARGEST = 1 << 20
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"255",
    b"256",
    b"65536",
    b"2147483648",
    b"4294967295",
    b"4294967296",
    b"9223372036854775808",
    b"-9223372036854775809",
    b"1e309",
    b"-0",
    b"0.1",
    b"1e-400",
    b"NaN",
    b"9" * 400,
    b"9" * 5000,
    "٣".encode(),
    "²".encode(),
    b"0x10",
    b"1_000",
    b"00",
    b"+1",
    b"Infinity",
)
ODD = (
    b"\0",
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"\r",
    b"\n",
    b"\r\n",
    b"\t",
    b"\x1b[31m",
    b"\x7f",
    b"\x85",
    b"\xe2\x80\xa8",
    b"\\u0000",
    b"\\ud800",
    b"%00",
    b"%s%n",
    b"{{",
    b"}}",
    b"../",
    b"'",
    b'"',
    b"<!--",
    b"]]>",
    b"&#0;",
    b"${x}",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"",
)
NESTS = (
    (b"[", b"]"),
    (b"{", b"}"),
    (b"(", b")"),
    (b"<a>", b"</a>"),
    (b'{"a":', b"}"),
    (b"- ", b""),
    (b"<", b">"),
    (b"<<", b">>"),
)


class Mutator:
    """Makes inputs from samples. ``words`` are tokens of the format."""

    def __init__(self, seed: int, words: Sequence[bytes] = ()) -> None:
        self._random = random.Random(seed)
        self._words = tuple(words)
        self._ways: tuple[Callable[[bytes], bytes], ...] = (
            self._flip,
            self._flip,
            self._byte,
            self._cut,
            self._cut,
            self._truncate,
            self._repeat,
            self._number,
            self._number,
            self._odd,
            self._odd,
            self._word,
            self._word,
            self._nest,
            self._long,
            self._swap,
            self._line,
        )

    def pick(self, samples: Sequence[bytes]) -> bytes:
        """Return one of the samples."""
        return self._random.choice(samples)

    def made(self, samples: Sequence[bytes]) -> bytes:
        """Return one of the samples after some mutations."""
        data = self.pick(samples)
        if self._random.random() < 0.15:
            data = self._spliced(data, self.pick(samples))
        for _ in range(self._random.choice((1, 1, 1, 2, 2, 3, 5, 8))):
            data = self._random.choice(self._ways)(data)[:LARGEST]
        return data

    def _span(self, data: bytes, most: int = 64) -> tuple[int, int]:
        start = self._random.randrange(len(data) + 1)
        return start, min(len(data), start + self._random.randint(1, most))

    def _flip(self, data: bytes) -> bytes:
        return self._at(data, lambda byte: byte ^ (1 << self._random.randrange(8)))

    def _byte(self, data: bytes) -> bytes:
        return self._at(data, lambda byte: self._random.choice((0, 255, 127, 128, 10, 32, self._random.randrange(256))))

    def _at(self, data: bytes, change: Callable[[int], int]) -> bytes:
        if not data:
            return b"\0"
        place = self._random.randrange(len(data))
        return data[:place] + bytes([change(data[place])]) + data[place + 1 :]

    def _cut(self, data: bytes) -> bytes:
        start, end = self._span(data, max(64, len(data) // 4))
        return data[:start] + data[end:]

    def _truncate(self, data: bytes) -> bytes:
        return data[: self._random.randrange(len(data) + 1)]

    def _repeat(self, data: bytes) -> bytes:
        start, end = self._span(data, max(64, len(data) // 8))
        times = self._random.choice((1, 2, 8, 100, 3000))
        return data[:start] + (data[start:end] * times)[: LARGEST // 2] + data[start:]

    def _number(self, data: bytes) -> bytes:
        found = list(NUMBER.finditer(data[: 1 << 16]))
        if not found:
            return self._put(data, self._random.choice(NUMBERS))
        chosen = self._random.choice(found)
        return data[: chosen.start()] + self._random.choice(NUMBERS) + data[chosen.end() :]

    def _odd(self, data: bytes) -> bytes:
        return self._put(data, self._random.choice(ODD))

    def _word(self, data: bytes) -> bytes:
        return self._put(data, self._random.choice(self._words or ODD))

    def _put(self, data: bytes, what: bytes) -> bytes:
        start, end = self._span(data, 8)
        return data[:start] + what + data[start if self._random.random() < 0.5 else end :]

    def _nest(self, data: bytes) -> bytes:
        opens, closes = self._random.choice((*NESTS, *((word, b"") for word in self._words)))
        depth = self._random.choice((3, 50, 1200, 30_000))
        start, end = self._span(data, 200)
        return data[:start] + opens * depth + data[start:end] + closes * depth + data[end:]

    def _long(self, data: bytes) -> bytes:
        return self._put(
            data,
            self._random.choice((b"A", b" ", b"\xc3\xa4", b"9", b"-", b"a-", b"\t"))
            * self._random.choice((300, 5000, 200_000)),
        )

    def _swap(self, data: bytes) -> bytes:
        (a, b), (c, d) = sorted((self._span(data), self._span(data)))
        return data if b > c else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]

    def _line(self, data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        if len(lines) < 2:
            return data
        one, two = self._random.randrange(len(lines)), self._random.randrange(len(lines))
        match self._random.randrange(3):
            case 0:
                lines[one], lines[two] = lines[two], lines[one]
            case 1:
                lines.insert(two, lines[one])
            case _:
                del lines[one]
        return b"".join(lines)

    def _spliced(self, one: bytes, other: bytes) -> bytes:
        start, end = self._span(other, max(64, len(other)))
        place = self._random.randrange(len(one) + 1)
        return one[:place] + other[start:end] + one[place if self._random.random() < 0.5 else len(one) :]
