"""A synthetic run with everything that a report can show, over drawn screens of an imaginary program."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from holo_tasks.audit import LocalTrace
from holo_tasks.audit.keys import SigningKey
from holo_tasks.core import events as e
from holo_tasks.core.input.gestures import Click, Drag, Gesture, Hotkey, Scroll, Write
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Point, Size

KEY = SigningKey.new()
WAITED_US = 15_000_000
SCREEN = Size(1280, 800)
TARGETS = {
    "Search": Point(1041, 187),
    "Transaction": Point(640, 187),
    "Open": Point(212, 402),
    "Flag for review": Point(884, 642),
}
MERCHANTS = ["Café Zoë", "Nordbahn AG", "Hotel Adler", "Taxi 4711", "Office Depot", "Kiosk am Markt", "Deutsche Post"]


class Telling:
    """Appends events to a trace, with a clock of its own."""

    def __init__(self, root: Path, run_id: str) -> None:
        self.trace = LocalTrace.open(root, run_id, KEY)
        self.now = datetime(2026, 11, 21, 9, 14, 3, tzinfo=UTC)
        self.kept: list[Shot] = []

    def say(self, event: e.Event, after_s: float = 0.0) -> None:
        self.now += timedelta(seconds=after_s)
        at = self.now.isoformat(timespec="microseconds").replace("+00:00", "Z")
        (written,) = self.trace.append([(at, event)])
        assert isinstance(written, e.Record), written

    def look(self, subgoal: int, step: int, number: int, *, masked: Sequence[str] = (), **state: object) -> Shot:
        shot = screen(number, **state)
        self.trace.keep(shot)
        self.kept.append(shot)
        self.show(shot, subgoal, step, masked=masked)
        return shot

    def show(
        self, shot: Shot, subgoal: int, step: int, *, masked: Sequence[str] = (), waited_us: int = 0, what_for: str = ""
    ) -> None:
        """Record a look at the screen whose picture is kept already."""
        self.say(
            e.FrameTaken(
                subgoal=subgoal,
                step=step,
                sha256=shot.sha256,
                media_type=shot.media_type,
                size_bytes=len(shot.data),
                sent_width=SCREEN.width,
                sent_height=SCREEN.height,
                screen_width=SCREEN.width,
                screen_height=SCREEN.height,
                frame_digest=shot.frame_digest,
                masks=[e.MaskedArea(kind=kind, box=[40, 300, 90, 20]) for kind in masked],
                settled=True,
                settle_us=61_000 + waited_us,
                quiet_us=48_000,
                capture_us=9_000,
                encode_us=14_000,
                waited_us=waited_us,
                waiting_for=what_for,
            ),
            0.08,
        )


def tell_run(
    root: Path,
    run_id: str = "20261121-0914-expense-audit",
    *,
    goals: int = 3,
    steps: int = 5,
    close: bool = True,
    hostile: str = "",
) -> Path:
    """Write the trace and return its folder. ``hostile`` text replaces every text that can come from outside."""
    chance = random.Random(11)
    telling = Telling(root, run_id)
    telling.say(
        e.RunOpened(
            run_id=run_id,
            title=f"Audit 12 expense receipts{hostile}",
            library="prefect-holo 0.0.0",
            flow_run_id="0e7a4c1e-5f0d-4f61-9f6b-3f0f2b6a1c55",
            display=":104",
            model="holo3-35b",
        )
    )
    shot_number, total = 0, 0
    for goal in range(1, goals + 1):
        merchant = MERCHANTS[goal % len(MERCHANTS)]
        telling.say(
            e.SubgoalOpened(
                subgoal=goal,
                title=f"Look up transaction T-{2040 + goal}{hostile}",
                goal=f"Open transaction T-{2040 + goal} in the ledger and read its status and amount. "
                f"The receipt says {merchant}, 48.20 EUR.{hostile}",
                progress=f"step {goal} of {goals}: look up {merchant}",
                model="holo3-35b",
                display=":104",
            ),
            0.2,
        )
        spent = 0
        masked = [f"e-mail{hostile}", f"e-mail{hostile}", "card"] if goal == 1 else []
        before = telling.look(goal, 1, shot_number, search="", masked=masked)
        for step, (label, gesture, thought) in enumerate(story_steps(goal, steps), start=1):
            shot_number += 1
            spent += one_step(telling, chance, goal, step, label, gesture, thought + hostile, before, shot_number)
            before = telling.kept[-1]
        total += spent
        status: e.Status = "limit" if goal == goals and goals > 2 else "answered"
        answer = json.dumps({"status": f"cleared{hostile}", "amount_cents": 4820}) if status == "answered" else ""
        reason = "" if status == "answered" else "the limit of 5 actions is used up"
        if close or goal < goals:
            telling.say(
                e.SubgoalClosed(
                    subgoal=goal,
                    status=status,
                    answer=answer,
                    reason=reason,
                    steps=steps,
                    cost_micro_usd=spent,
                ),
                0.1,
            )
    if close:
        telling.say(
            e.RunClosed(
                status="answered",
                answer=f"12 receipts read, 3 flagged, workbook written.{hostile}",
                steps=goals * steps,
                cost_micro_usd=total,
            ),
            0.3,
        )
    telling.trace.close()
    return telling.trace.folder


def story_steps(goal: int, steps: int) -> Iterator[tuple[str, Gesture | None, str]]:
    acts: list[tuple[str, Gesture | None, str]] = [
        (
            "click ‘Transaction number field’",
            Click(TARGETS["Transaction"]),
            "The main window of the ledger is open and the search form is empty. I need to put the transaction "
            "number into the field at the top before I can search, so I click into it first.",
        ),
        (
            f"overwrite with ‘T-{2040 + goal}’ and press Enter",
            Write(f"T-{2040 + goal}", overwrite=True, press_enter=True),
            "The caret is in the transaction field. I type the number and press Enter, which starts the search.",
        ),
        ("click ‘Search’", Click(TARGETS["Search"]), "Enter did nothing visible. The Search button does it too."),
        ("scroll down in ‘result list’", Scroll(Point(480, 470), "down", 5), "The row is further below."),
        ("drag ‘column edge’", Drag(Point(310, 330), Point(520, 330)), "The amount column is too narrow to read."),
        ("double-click ‘the row of the transaction’", Click(TARGETS["Open"], count=2), "Open the row to read it."),
        ("press ctrl+f", Hotkey(("ctrl", "f")), "A keyboard shortcut opens the filter."),
        ("right-click ‘Flag for review’", Click(TARGETS["Flag for review"], "right"), "See what can be done here."),
    ]
    for step in range(steps - 1):
        yield acts[step % len(acts)]
    yield "answer", None, "The status is ‘cleared’ and the amount is 48.20 EUR. Both match the receipt."


def one_step(
    telling: Telling,
    chance: random.Random,
    goal: int,
    step: int,
    label: str,
    gesture: Gesture | None,
    thought: str,
    before: Shot,
    number: int,
) -> int:
    place = {"subgoal": goal, "step": step}
    endpoint, decide = "https://api.hcompany.ai/v1", chance.uniform(0.4, 1.4)
    attempts = 2 if (goal, step) in ((1, 3), (2, 2)) else 1
    cost = 0
    for attempt in range(1, attempts + 1):
        telling.say(
            e.RequestSent(
                **place,
                attempt=attempt,
                model="holo3-35b",
                endpoint=endpoint,
                shots=[before.sha256],
                messages=4 + step,
                prompt_sha256=hashlib.sha256(thought.encode()).hexdigest(),
            )
        )
        if attempt < attempts and goal == 2:
            telling.say(e.CallFailed(**place, attempt=attempt, reason="503 from the endpoint", transient=True), 0.5)
            continue
        bill = chance.randint(300, 900)
        cost += bill
        telling.say(
            e.ReplyReceived(
                **place,
                attempt=attempt,
                latency_us=round(decide * 1e6),
                prompt_tokens=chance.randint(2100, 3400),
                cached_tokens=0,
                completion_tokens=chance.randint(60, 140),
                cost_micro_usd=bill,
                estimated=False,
                finish_reason="stop",
                content="{}",
            ),
            decide,
        )
        if attempt < attempts:
            telling.say(e.Corrected(**place, reason="y must be an integer from 0 to 1000, not 1043"))
    note = "The ledger shows amounts without currency; all are EUR." if step == 3 else None
    kind = type(gesture).__name__ if gesture else "answer"
    telling.say(
        e.Decided(
            **place, note=note, thought=thought, tool_name=kind.lower(), arguments={"element": label}, label=label
        )
    )
    timed = {"perceive_us": 84_000 + chance.randint(0, 60_000), "decide_us": round(decide * 1e6)}
    if gesture is None or (goal, step) == (3, 2):
        if gesture:
            telling.say(e.Permitted(**place, allowed=False, rule="writing is not allowed in this window"))
        telling.say(e.StepTimed(**place, **timed, act_us=0, total_us=sum(timed.values()) + 31_000))
        return cost
    telling.say(e.Permitted(**place, allowed=True, rule="act"))
    told = asdict(gesture)
    told = {key: list(value) if isinstance(value, tuple) else value for key, value in told.items()}
    hit = {"role": "button", "name": label[-60:], "application": "ledger"} if kind == "Click" else {}
    telling.say(
        e.ActionIntended(
            **place, gesture_kind=kind.lower(), gesture=told, label=label, before=before.sha256, element=hit
        )
    )
    telling.say(e.ActionDone(**place, took_us=41_000, input_events=3), 0.04)
    same = step == 3
    waits = same and goal == 1
    if waits:
        telling.show(before, goal, step, waited_us=WAITED_US, what_for="its server (10.0.0.5:443)")
        timed["waiting_us"] = WAITED_US
    after = before if same else telling.look(goal, step, number, search=f"T-{2040 + goal}", rows=step > 1)
    telling.say(
        e.Judged(
            **place,
            outcome="unchanged" if same else "changed",
            before=before.sha256,
            after=after.sha256,
            changed_box=[] if same else [40, 300, 1200, 280] if step > 1 else [300, 172, 680, 32],
        ),
        0.06,
    )
    if kind == "Write" and goal < 3:
        held = {"outcome": "completed", "held": "T-2041 / open"} if goal == 1 else {"outcome": "exact"}
        telling.say(e.FieldRead(**place, field="Transaction no.", by="accessibility", **held))
    telling.kept.append(after)
    telling.say(e.StepTimed(**place, **timed, act_us=41_000, total_us=sum(timed.values()) + 41_000 + 27_000))
    return cost


@functools.cache
def screen(number: int, *, search: str = "", rows: bool = False, target: Point | None = None) -> Shot:
    """Return a 1280 x 800 picture of an old program. ``target`` is drawn as a small red square."""
    image = Image.new("RGB", (SCREEN.width, SCREEN.height), (58, 110, 165))
    draw = ImageDraw.Draw(image)
    small, large = ImageFont.load_default(14), ImageFont.load_default(17)
    draw.rectangle((24, 24, 1255, 760), fill=(212, 208, 200), outline=(64, 64, 64))
    draw.rectangle((27, 27, 1252, 52), fill=(10, 36, 106))
    draw.text((36, 30), f"Ledgerline 4.2  -  Transactions  [{number}]", fill="white", font=large)
    for x, word in zip(range(36, 500, 70), ("File", "Edit", "View", "Search", "Tools", "Help"), strict=False):
        draw.text((x, 60), word, fill="black", font=small)
    draw.text((150, 180), "Transaction no.", fill="black", font=small)
    draw.rectangle((300, 174, 980, 202), fill="white", outline=(90, 90, 90))
    draw.text((308, 180), search, fill="black", font=small)
    for name, point in TARGETS.items():
        if name in ("Search", "Flag for review"):
            x, y = point.x, point.y
            draw.rectangle((x - 56, y - 14, x + 56, y + 14), fill=(212, 208, 200), outline=(90, 90, 90))
            draw.text((x, y), name, fill="black", font=small, anchor="mm")
    draw.rectangle((40, 240, 1238, 600), fill="white", outline=(90, 90, 90))
    chance = random.Random(number)
    for row in range(14 if rows else 3):
        y = 262 + row * 24
        values = (
            f"T-{chance.randint(1000, 9999)}",
            f"2026-11-{chance.randint(1, 21):02d}",
            chance.choice(MERCHANTS),
            f"{chance.uniform(4, 400):.2f}",
            "cleared",
        )
        for x, value in zip((60, 200, 360, 760, 980), values, strict=True):
            draw.text((x, y), value, fill="black", font=small)
    if target:
        draw.rectangle((target.x - 3, target.y - 3, target.x + 3, target.y + 3), fill=(255, 0, 0))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=85)
    data = out.getvalue()
    return Shot(data, "image/jpeg", hashlib.sha256(data).hexdigest(), SCREEN, SCREEN, f"frame-{number}")
