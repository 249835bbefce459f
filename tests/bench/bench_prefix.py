"""Share of each prompt in a server's prefix cache, by the number of old pictures that are evicted at once.

The real dialects write a conversation of thirty steps that was recorded on the legacy program with the rehearsal model.
A server with a prefix cache knows a prompt up to the first part that differs from the previous prompt; an evicted
picture is such a part. Tokens are estimates: pictures by their formula, text at four bytes each.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import READ, headline, ledger, pursue, rehearsal, scratch_home, table, walk_on

if TYPE_CHECKING:
    from holo_tasks.core.prompts.model import Request
    from holo_tasks.core.prompts.transcript import Entry

STEPS = 30
DIALECTS = ("structured", "tools")
GOING = {1: "one at a time", 2: "in pairs", 3: "in threes"}
# The limit of pictures, and the number evicted at once. The last pair is for models with a limit above three.
WAYS = ((3, 1), (3, 2), (3, 3), (4, 3))
CACHING, PLAIN = "holo4-35b-a3b", "holo3-1-35b-a3b"
REFERENCES = ("TX-10482", "TX-10517", "TX-10563", "TX-10594", "TX-10628", "TX-10655", "TX-10673", "TX-10716")


@dataclass(frozen=True)
class Part:
    """A piece of a prompt with its digest, for comparison, and its tokens."""

    digest: str
    tokens: int
    picture: bool = False


@dataclass(frozen=True)
class Warmth:
    """Figures of a conversation's prompts: all tokens, the repeated ones, and pictures, per request."""

    prompts: list[int]
    repeated: list[int]
    pictures: list[int]

    @property
    def share(self) -> float:
        return sum(self.repeated) / sum(self.prompts)

    def dollars(self, model: str) -> float:
        """Return the cost of the prompts at a model's price, with its price for cached tokens."""
        from holo_tasks.core.limits.money import Usage
        from holo_tasks.models.profile import profile_for

        price = profile_for(model).price
        assert price is not None
        bills = zip(self.prompts, self.repeated, strict=True)
        return sum(price.price().of(Usage(prompt, 0, cached)) for prompt, cached in bills) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help="of the conversation (%(default)s)")
    steps: int = parser.parse_args().steps
    headline(__file__, "repetition of the previous prompt")
    with scratch_home() as home, rehearsal() as base_url:
        entries = asyncio.run(_conversation(home, base_url, steps))
    columns = ("dialect", "at most, go", "pictures a call", "fewest", "tokens a call", "new tokens", "repeated")
    rows, verdicts = [], []
    for dialect in DIALECTS:
        found = {way: _warmth(entries, dialect, steps, *way) for way in WAYS}
        rows += [[dialect, _named(way), *_figures(warmth, found[WAYS[0]])] for way, warmth in found.items()]
        verdicts.append(f"{dialect}: {_verdict(found)}")
    title = f"{steps} steps on real screens; dollars are for all prompts of the conversation"
    table(title, (*columns, "$ cached price", "ratio", "$ no such price", "ratio"), rows, words=2)
    print(f"  cached price: {CACHING}, {_terms(CACHING)}; none: {PLAIN}, {_terms(PLAIN)}")
    print("  fewest: pictures in a request once some have gone")
    for verdict in verdicts:
        print(f"  {verdict}")


def _figures(warmth: Warmth, base: Warmth) -> list[object]:
    """Return a row of the table: averages per call, then dollars relative to the base."""
    new = [prompt - known for prompt, known in zip(warmth.prompts, warmth.repeated, strict=True)]
    figures: list[object] = [f"{statistics.mean(warmth.pictures):.2f}", min(warmth.pictures[max(WAYS)[0] :])]
    figures += [f"{statistics.mean(warmth.prompts):,.0f}", f"{statistics.mean(new):,.0f}", f"{warmth.share:.1%}"]
    for model in (CACHING, PLAIN):
        dollars = warmth.dollars(model)
        figures += [f"{dollars:.4f}", f"{dollars / base.dollars(model):.2f}"]
    return figures


async def _conversation(home: Path, base_url: str, steps: int) -> list[Entry]:
    """Look up one transaction after the other, and join their entries to one conversation."""
    from holo_tasks.core.prompts.transcript import ModelStep
    from holo_tasks.models.build_model import model_at
    from holo_tasks.models.client import ModelEndpoint
    from holo_tasks.models.profile import profile_for

    endpoint = ModelEndpoint(base_url, None)
    model = model_at(endpoint, profile_for("rehearsal"))
    entries: list[Entry] = []
    async with ledger(home) as desktop:
        for reference in REFERENCES:
            walk = walk_on(desktop, model, READ.format(reference))
            await pursue(walk)
            # Each look-up begins on the last screen of the previous one.
            entries += walk.transcript.entries[1 if entries else 0 :]
            if sum(isinstance(entry, ModelStep) for entry in entries) >= steps:
                break
    await endpoint.close()
    return entries


def _warmth(entries: Sequence[Entry], dialect: str, steps: int, budget: int, batch: int) -> Warmth:
    from holo_tasks.core.prompts.transcript import Observed, Transcript
    from holo_tasks.models.dialects import dialect_for
    from holo_tasks.models.profile import profile_for

    shape: dict[str, Any] = {"dialects": DIALECTS, "image_budget": budget, "evict_batch": batch}
    speaker = dialect_for(profile_for(CACHING, **shape), dialect)
    said = [_as_call(entry) for entry in entries] if dialect == "tools" else list(entries)
    seen = [place for place, entry in enumerate(said) if isinstance(entry, Observed)][:steps]
    task = " ".join(READ.format(reference) for reference in REFERENCES)
    requests = [speaker.request(Transcript(task, tuple(said[: place + 1]))) for place in seen]
    prompts = [list(_parts(request)) for request in requests]
    repeated = [0]
    for before, now in pairwise(prompts):
        same = takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False))
        repeated.append(sum(part.tokens for part, _ in same))
    totals = [sum(part.tokens for part in prompt) for prompt in prompts]
    return Warmth(totals, repeated, [sum(part.picture for part in prompt) for prompt in prompts])


def _as_call(entry: Entry) -> Entry:
    """Return a step in the form of a model with function calls, with its thought as reasoning to be replayed."""
    from holo_tasks.core.prompts.transcript import ModelStep

    if not isinstance(entry, ModelStep):
        return entry
    return ModelStep(entry.step.model_copy(update={"thought": "", "reasoning": entry.step.thought}))


def _parts(request: Request) -> Iterator[Part]:
    """Yield the parts of a prompt in the order of chat templates, tools first."""
    from holo_tasks.core.limits.money import image_tokens

    shots = iter(request.shots)
    if "tools" in request.body:
        yield _text(json.dumps(request.body["tools"]))
    for message in request.body["messages"]:
        yield _text(f"<|im_start|>{message['role']}\n{message.get('reasoning_content', '')}")
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                yield _text(part["text"])
            else:
                size, url = next(shots).sent_size, part["image_url"]["url"]
                yield Part(_digest(url), image_tokens(size.width, size.height), picture=True)
        if "tool_calls" in message:
            yield _text(json.dumps(message["tool_calls"]))


def _text(text: str) -> Part:
    return Part(_digest(text), -(-len(text.encode()) // 4))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _terms(model: str) -> str:
    from holo_tasks.models.profile import profile_for

    price = profile_for(model).price
    assert price is not None
    cached = f", cached {price.cached}" if price.cached is not None else ""
    return f"${price.input} a million tokens{cached}"


def _named(way: tuple[int, int]) -> str:
    budget, batch = way
    return f"{budget}, {GOING[batch]}"


def _verdict(found: Mapping[tuple[int, int], Warmth]) -> str:
    """Return the cheapest way in one line, and the relative cost of the others."""
    dollars = {way: warmth.dollars(CACHING) for way, warmth in found.items()}
    best = min(dollars, key=lambda way: dollars[way])
    others = ", ".join(
        f"‘{_named(way)}’ {spent / dollars[best] - 1:+.0%}" for way, spent in dollars.items() if way != best
    )
    return f"‘{_named(best)}’ is the cheapest at {CACHING}'s price; beside it {others}"


if __name__ == "__main__":
    sys.exit(main())
