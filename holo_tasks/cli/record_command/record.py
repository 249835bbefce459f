"""`holo-tasks record`: watch a person work on a screen, and make a playbook from that."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from holo_tasks.audit import Destination
from holo_tasks.audit.recorder import TraceRecorder, new_run_id, now
from holo_tasks.by_hand.command_keys import without_pauses
from holo_tasks.by_hand.progress import StepReporter
from holo_tasks.by_hand.step_collector import DelayingDesktop, HandStep, RecordedScreen, StepCollector
from holo_tasks.by_hand.trace_writer import CombinedRedactor, RecordedSession, merged, unsure_steps, write_trace
from holo_tasks.by_hand.typed_secrets import TypedSecret, TypedSecretRedactor, by_name, into_empty, read, secrets_in
from holo_tasks.cli import settings as chosen
from holo_tasks.cli.compile import compile_traces
from holo_tasks.cli.record_command.person import StandardInput
from holo_tasks.cli.run_command.run import (
    display_of,
    named_values,
    profiles_of,
    redaction_of,
    register_values,
    settle_of,
    size_of,
)
from holo_tasks.cli.signals import call_at_termination, cancel_at_signals, interrupt_at_signals
from holo_tasks.cli.verify import ready
from holo_tasks.compiler.parameters import NO_NAME, is_name
from holo_tasks.core.attachment import Attachment
from holo_tasks.core.errors import DesktopFailed, InvalidUsage
from holo_tasks.core.events import Event
from holo_tasks.core.input.remote_input import ByHand
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.desktop import AttachedDesktop, Desktop, VirtualDesktop
from holo_tasks.desktop.input.input_recorder import InputRecorder
from holo_tasks.live_view.programs import missing_packages
from holo_tasks.live_view.view import open_live_view
from holo_tasks.machine.home import holo_home
from holo_tasks.machine.output import say
from holo_tasks.models.encoding import PngEncoder
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.redaction import Painter
from holo_tasks.safety.scrubbed_model import scrubbed_event
from holo_tasks.scripts.values import Value
from holo_tasks.vision.control_text import can_read
from holo_tasks.vision.screen_text import plain

HOW_IT_ENDS = "Type `done` here when you have finished, or press Ctrl+C to discard the recording."
INPUT_METHOD = (
    "An input method ({}) runs on the display {}: the recording has the keys that you press, not the characters that "
    "it makes from them. Switch it to a plain keyboard layout before you type."
)
SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class Recorded:
    """The steps of a person's work, the last screen, and the display."""

    steps: Sequence[HandStep]
    last: RecordedScreen
    display: str


def record(options: argparse.Namespace) -> str:
    """Watch a person, write a playbook of the work and return the text for stdout.

    A step that cannot be repeated is left to the model. Raises `InvalidUsage` if nothing was done.
    """
    home, person = holo_home(), StandardInput.of_this_process()
    _check(options)
    destination, redaction = chosen.audit(options.audit, home), redaction_of(options.redact, {})
    destination.check()
    ready(home)
    goal = options.goal or options.out.name.partition(".")[0].replace("-", " ").replace("_", " ").strip()
    teller = StepReporter(say)
    seen = asyncio.run(_watch(options, person, teller))
    interrupt_at_signals()
    params = named_values(options.param, "--param")
    steps = merged(without_pauses(seen.steps, seen.last, teller.reader, params.values()))
    unsure = unsure_steps(steps)
    secrets = _secrets(secrets_in(steps, seen.last, teller.reader, params.values()), person)
    register_values(each.secret for each in secrets)
    answer = _answer(options.answer, seen.last, teller, person)
    steps = into_empty(steps, teller.reader)
    story = RecordedSession(by_name(steps, secrets), seen.last, goal, answer, seen.display, teller.words, unsure)
    trace = asyncio.run(_write_trace(story, secrets, redaction, destination, home))
    for name in dict.fromkeys(each.secret.name for each in secrets):
        say(f"your text for {name} is not kept: a run needs --secret {name} and HOLO_SECRET_{name.upper()}")
    try:
        ask = (lambda values: _names(values, person)) if person.there else None
        how = {"as_json": options.json, "ask": ask, "reader": teller.reader}
        said = compile_traces([trace], options.out, goal, options.param, None, home, **how)
    except InvalidUsage as error:
        raise InvalidUsage(f"{error} The recording is kept: `holo-tasks compile {trace}` takes it.") from None
    return _with_secrets(said, secrets) if options.json else said


def _check(options: argparse.Namespace) -> None:
    """Raise `InvalidUsage` for wrong options, before anything is started."""
    if not options.out.name or options.out.is_dir() or not options.out.absolute().parent.is_dir():
        raise InvalidUsage(f"--out must name a file in an existing folder, not {str(options.out)!r}.")
    if options.app is not None and not options.app.strip():
        raise InvalidUsage("--app is empty; give the command that starts the program.")
    if not can_read():
        raise InvalidUsage("Pictures cannot be read here: pip install 'prefect-holo[rehearsal]'.")
    if wrong := next((name for name in named_values(options.param, "--param") if not is_name(name)), None):
        raise InvalidUsage(NO_NAME.format(wrong))
    _desktop(options)  # its constructor checks the other options


def _is_own(options: argparse.Namespace) -> bool:
    """Return whether the program gets a virtual desktop, which the person sees in a browser."""
    return options.app is not None and options.display is None


def _desktop(options: argparse.Namespace) -> Desktop:
    size, settle, profiles = size_of(options.size), settle_of(options), profiles_of(options)
    if _is_own(options):
        if missing := missing_packages():
            raise InvalidUsage(
                f"Showing the program in a browser needs `apt-get install --no-install-recommends "
                f"{' '.join(missing)}`; or add --display $DISPLAY to show it there."
            )
        return VirtualDesktop(size=size, app=options.app, settle=settle, inherits="plain", profiles=profiles, tell=say)
    return AttachedDesktop(
        display_of(options),
        app=options.app,
        settle=settle,
        inherits="plain",
        touches=False,
        accessibility=options.accessibility,
    )


async def _watch(options: argparse.Namespace, person: StandardInput, teller: StepReporter) -> Recorded:
    """Record the person's steps until they type "done", close the view, or the program ends."""
    cancel_at_signals(asyncio.current_task())
    done = asyncio.Event()
    call_at_termination(done.set)
    recorded: Recorded | None = None
    try:
        async with _desktop(options) as desktop:
            desktop.looks_on = desktop.tells_windows = True
            where = _in_browser(desktop, teller, done) if _is_own(options) else _on_display(desktop, teller)
            async with where as collector:
                telling, watching = asyncio.create_task(teller.work()), asyncio.create_task(collector.watch())
                ending = asyncio.create_task(done.wait())
                person.listen(done.set)
                say(HOW_IT_ENDS)
                try:
                    await asyncio.wait({watching, ending}, return_when=asyncio.FIRST_COMPLETED)
                    watching.cancel()
                    last = await _last_screen(collector, watching)
                    recorded = Recorded(collector.done, last, desktop.display)
                    await teller.caught_up()
                finally:
                    person.hush()
                    for task in (telling, watching, ending):
                        task.cancel()
    except DesktopFailed:
        if recorded is None:
            raise
    assert recorded is not None
    return recorded


async def _last_screen(collector: StepCollector, watching: asyncio.Task[None]) -> RecordedScreen:
    """Return the screen at the end. If the desktop failed after a step, that is the last one before."""
    try:
        if watching.done() and not watching.cancelled():
            watching.result()
        return await collector.ended()
    except DesktopFailed as error:
        last = collector.cut_off()
        if not collector.done:
            raise
        say(f"{error} The recording ends with the last screen before that.")
        return last


@asynccontextmanager
async def _in_browser(desktop: Desktop, teller: StepReporter, done: asyncio.Event) -> AsyncIterator[StepCollector]:
    """Let the person work in a browser. Each input waits until the screen before it is captured."""
    collector = StepCollector(desktop, teller.report, now)
    await collector.fresh()
    await desktop.hold()
    async with open_live_view(DelayingDesktop(desktop, collector)) as view:
        view.until(done.set)
        say("The program is shown at", f" {view.url}")
        yield collector


@asynccontextmanager
async def _on_display(desktop: Desktop, teller: StepReporter) -> AsyncIterator[StepCollector]:
    """Let the person work on an existing display, and record the input there."""
    loop = asyncio.get_running_loop()
    known: list[StepCollector] = []

    def on_input(one: ByHand, at_s: float) -> None:
        loop.call_soon_threadsafe(lambda: known[0].take_input(one, at_s))

    input_recorder = await asyncio.to_thread(InputRecorder, desktop.display, on_input)
    try:
        known.append(StepCollector(desktop, teller.report, now, input_recorder.catch_up))
        await known[0].fresh()
        say(f"Input on the display {desktop.display} is recorded.")
        if method := await asyncio.to_thread(input_recorder.input_method):
            say(INPUT_METHOD.format(method, desktop.display))
        yield known[0]
    finally:
        input_recorder.close()


def _secrets(found: Sequence[TypedSecret], person: StandardInput) -> list[TypedSecret]:
    """Return the secrets among the typed texts. The person is asked about texts that do not show on the screen."""
    kept = []
    for each in found:
        if not each.sure and person.there:
            said = person.ask(f"Your text in step {each.step} does not show on the screen. Is it a secret? [yes] ")
            if said.casefold() in ("n", "no"):
                continue
        elif not each.sure:
            say(f"the text typed in step {each.step} does not show on the screen, so it counts as a secret. If it is "
                "not one, give --param NAME=VALUE.")  # fmt: skip
        kept.append(each)
    return kept


def _answer(given: str, last: RecordedScreen, teller: StepReporter, person: StandardInput) -> str:
    """Return the answer. Ask the person for another one if it is not on the last screen."""
    lines = [plain(line.text) for line in read(last, teller.reader).lines] if given else []
    while given and not any(plain(given) in line for line in lines):
        said = f"{given!r} was not found on the last screen."
        if not person.there:
            say(f"{said} So the model will be asked for the answer.")
            break
        given = person.ask(f"{said} Which text there is the answer? (none) ")
    return given


def _names(values: Mapping[str, Value], person: StandardInput) -> dict[str, str]:
    """Ask the person for a name of each typed value. An empty name means that the value never changes."""
    found: dict[str, str] = {}
    for name, value in values.items():
        shown = " ".join(str(value).split())[:SHOWN_CHARACTERS]
        said = person.ask(f"‘{shown}’ becomes the parameter {name}. Another name, or - if the text never changes? ")
        while said not in ("", "-") and (not is_name(said) or said in found.values()):
            said = person.ask(f"{NO_NAME.format(said)} Each has its own. {name}: ")
        found[name] = "" if said == "-" else said or _free(name, found.values())
    return found


def _free(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken, with a number at its end if needed."""
    return next(each for each in chain([name], (f"{name}_{number}" for number in count(2))) if each not in taken)


async def _write_trace(
    story: RecordedSession,
    secrets: Sequence[TypedSecret],
    redaction: Redaction | None,
    destination: Destination,
    home: Path,
) -> str:
    """Write the trace of the recording and return its URI."""
    from holo_tasks.run.rules.redactors import redactor_for, text_filter

    cancel_at_signals(asyncio.current_task())
    values = {each.secret.name: each.secret.value for each in secrets}
    rules = redaction or (Redaction(texts=()) if values else None)
    redactor = CombinedRedactor(redactor_for(rules, values), Painter([TypedSecretRedactor(secrets)]))
    recorder = destination.open(new_run_id(), home=home)
    async with recorder:
        scrubber = Scrubber(each.secret for each in secrets)
        await write_trace(story, _Scrubbed(recorder, scrubber), redactor, PngEncoder(), text_filter(rules, values))
    return recorder.uri


class _Scrubbed:
    """Recorder that removes the values of secrets from events."""

    def __init__(self, recorder: TraceRecorder, scrubber: Scrubber) -> None:
        self.run_id = recorder.run_id
        self._recorder, self._scrubber = recorder, scrubber

    async def keep(self, shot: Shot | Attachment) -> None:
        await self._recorder.keep(shot)

    async def record(self, event: Event, at: str = "") -> None:
        await self._recorder.record(scrubbed_event(event, self._scrubber), at)


def _with_secrets(text: str, secrets: Sequence[TypedSecret]) -> str:
    unasked = "left_out", "astray", "probe"
    fields = {name: value for name, value in json.loads(text).items() if name not in unasked}
    return json.dumps(fields | {"secrets": list(dict.fromkeys(each.secret.name for each in secrets))})
