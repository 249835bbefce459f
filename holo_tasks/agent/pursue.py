"""`pursue`: work on one goal on the screen, layer by layer, as part of the sub-goal around it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from holo_tasks.agent.layers import EffectFound, Layers
from holo_tasks.agent.playbooks.macros import Macros, Tool, macros_of, press_once_of
from holo_tasks.audit import open_trace
from holo_tasks.audit.pages.timeline import subgoal_markdown
from holo_tasks.core import events
from holo_tasks.core.errors import InvalidUsage, LimitReached, UnfitItem
from holo_tasks.core.prompts.transcript import Transcript
from holo_tasks.core.renamed_arguments import renamed
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.secrets.secret import names_in
from holo_tasks.core.texts.error_text import problems_of
from holo_tasks.core.texts.outside_text import is_placeholder, named, one_line_of, plain, quoted, strings_in
from holo_tasks.loop.loop import AnswerReader
from holo_tasks.loop.screens import Do, Screens, Scripted
from holo_tasks.loop.services import Services
from holo_tasks.loop.walk import Walk
from holo_tasks.run.desktops.shared_folder_use import TOLD, files_text
from holo_tasks.run.items.journal import not_untouched
from holo_tasks.run.prefect_edge.artifacts import publish_markdown
from holo_tasks.run.prefect_edge.flow_context import flow_run_id
from holo_tasks.run.prefect_edge.killed import as_killed
from holo_tasks.run.run import AnsweredSubgoal, Run, current_guard, current_run, progress, status_and_reason, to_text
from holo_tasks.run.subgoal_context import Subgoal, as_current_subgoal, current_subgoal, has_token
from holo_tasks.run.subgoal_options import SubgoalOptions
from holo_tasks.safety.scrubbing import scrub_data, scrub_text
from holo_tasks.scripts.script import Script

MAX_GOAL_CHARACTERS = 100_000


_OPTIONS = "options=SubgoalOptions({})"


@renamed(
    screens=_OPTIONS.format("screens=…"),
    before=_OPTIONS.format("screens=SCREENS.route(begins=…)"),
    after=_OPTIONS.format("screens=SCREENS.route(ends=…)"),
    layers=_OPTIONS.format("layers=[…]"),
    script=_OPTIONS.format("layers=[Script(…)]"),
    safe_to_repeat=_OPTIONS.format("effect=Effect(retry_click=…)"),
    once=_OPTIONS.format("effect=Effect(press_once=…)"),
    secrets=_OPTIONS.format("secrets=…"),
)
async def pursue(
    goal: str,
    *,
    data: Mapping[str, Any] | None = None,
    returns: Any = str,
    max_steps: int | None = None,
    region: Box | None = None,
    options: SubgoalOptions | None = None,
    tools: Sequence[Tool] = (),
) -> Any:
    """Let the agent work on a goal until it answers. Return the answer as ``returns``.

    The goal is an instruction, so write it yourself. Put values from mails, files, screens or other people's lists into
    ``data``, and refer to them by name in the goal:

        pursue("Open the transaction and read its amount.", data={"transaction": reference}, returns=Record)

    The model gets the data as a block of its own: JSON between marks that the data cannot contain, with a bounded
    length, visible control characters and disabled placeholders of secrets. Data or the screen may still mislead a
    model, so limit its actions by rules.

    Only the author of the goal can name secrets. The model may type the secrets that the goal names as
    ``{{secret:NAME}}``, or only those in ``secrets`` of the options, if given. Names on the screen or in the data never
    count. Without ``secrets``, raises `InvalidUsage` if an argument of the sub-goal brought a name into the goal.

    ``returns`` is any type that pydantic can validate. The model gets its JSON schema. An answer that does not fit is
    returned to the model for correction, like an unusable reply.

    ``max_steps`` limits each layer. ``region`` limits the picture to a part of the screen, in screen pixels.
    ``options`` may override the screens, layers, labels of the effect and secrets of the sub-goal around this call. Its
    journal stays the same. ``tools`` are playbooks that the model may call, each as ``Script("file.yaml", "goal")``. A
    call runs the whole playbook, and the model gets the result. The model gives the values that the script lacks.

    Raises a `HoloError` whose status says how the work ended.
    """
    run = current_run()
    text = goal.strip()
    if not text:
        raise InvalidUsage("The goal is empty; say in a sentence what the agent should do.")
    if len(text) > MAX_GOAL_CHARACTERS:
        raise UnfitItem(f"The goal has {len(text)} characters; {MAX_GOAL_CHARACTERS} is the limit.")
    here = (current_subgoal() or Subgoal(0, named(scrub_text(text)), "", "")).numbered(run)
    files = files_text()
    values = scrub_data(plain({**here.data, **files, **(data or {})}))
    block = quoted(values) if values else ""
    if options is not None:
        options.check_for_pursue()
    options = (options or SubgoalOptions()).inside(here.options)
    guard = current_guard() or run.guard
    macros = macros_of(run, options, perform, tools)
    walk = Walk(
        _services_for(run, options, macros),
        guard,
        here.number,
        Transcript(task_text(f"{text}\n\n{TOLD}" if files else text, here.progress_text, returns, block)),
        region,
        here.token or run.options.key,
        options.retry_click,
        _secrets_of(text, options.secrets, here),
    )
    most, about = max_steps or run.options.max_steps, one_line_of(values)
    layered = Layers(run, walk, options, reader_for(returns), most, perform, here.probe, about, macros, text, values)
    await run.skipping.report(run)
    await walk.record(_opened_event(run, here, f"{text}\n\n{block}".strip(), options, macros))
    ended = _Ended()
    async with run.exclusive_screen():
        spent_before = guard.spent_micro - run.spent_inside  # other calls may have spent during the wait
        try:
            with not_untouched(guard, alone=not has_token(here)):
                found = await layered.answer()
            ended.answer = found.text
            return found.value
        except EffectFound as found:
            ended.answer = to_text(TypeAdapter(Any).dump_python(found.value, mode="json"))
            raise
        except BaseException as error:
            ended.status, ended.reason = status_and_reason(error, guard)
            if isinstance(error, LimitReached):
                run.subscribed.limit(error)
                ended.answer = error.partial_answer or ""
            if isinstance(error, asyncio.CancelledError) and (killed := as_killed(error, run.switch)) is not error:
                raise killed from error
            raise
        finally:
            await _close(run, here, walk, layered, ended, spent_before)


@dataclass
class _Ended:
    """The end of a sub-goal: status, reason and answer."""

    status: events.Status = "answered"
    reason: str = ""
    answer: str = ""


def _services_for(run: Run, options: SubgoalOptions, macros: Macros) -> Services:
    """Return the stages of a sub-goal's steps. Its model has the macros as additional tools."""
    services = run.services(reads=bool(options.retry_click or options.script or options.press_once or macros.tools))
    return replace(services, model=macros.offered_to(services.model))


def _opened_event(
    run: Run, subgoal: Subgoal, goal: str, options: SubgoalOptions, macros: Macros
) -> events.SubgoalOpened:
    return events.SubgoalOpened(
        title=subgoal.title,
        goal=goal,
        progress=subgoal.progress,
        token=subgoal.token,
        model=run.outside.model.name,
        display=run.desktop.display,
        flow_run_id=flow_run_id(),
        playbook=_version(options.script),
        macros=[version for _, tool in macros.tools if (version := _version(tool))],
        press_once=list(dict.fromkeys((*options.press_once, *press_once_of(options.script)))),
    )


def _version(script: object) -> str:
    """Return a playbook's goal and version. Empty if ``script`` is not a playbook from a file."""
    return f"{script.name} {script.version}" if isinstance(script, Script) and script.version else ""


async def _close(run: Run, subgoal: Subgoal, walk: Walk, layered: Layers, ended: _Ended, spent_before: int) -> None:
    """Add a sub-goal's steps and cost to the run, and record its end."""
    guard = walk.guard
    steps, layer = layered.walk.step, layered.layer if ended.status == "answered" else ""
    run.whole.steps += steps
    spent = guard.spent_micro - run.spent_inside - spent_before
    run.spent_inside += spent
    if layer:
        run.resolved.append(AnsweredSubgoal(subgoal.number, subgoal.title, subgoal.token, layer))
        subgoal.resolved.append(layer)
    await walk.record(
        events.SubgoalClosed(
            status=ended.status,
            answer=ended.answer,
            reason=ended.reason,
            steps=steps,
            cost_micro_usd=None if guard.unpriced_calls else spent,
            layer=layer,
        )
    )
    run.run_in_background(_publish_timeline(run, subgoal))


def _secrets_of(goal: str, secrets: Sequence[str] | None, subgoal: Subgoal) -> frozenset[str]:
    """Return the secrets that the model may type. Raises `InvalidUsage` if an argument may have named them."""
    # In the model's text, the value of a secret is replaced by its name.
    allowed = names_in(scrub_text(goal)) if secrets is None else frozenset(secrets)
    strange = sorted(names_in(goal) - allowed)
    if strange and secrets is not None:
        strange = sorted(set(strange) - _named_by_arguments(goal, subgoal))
    if strange:
        raise InvalidUsage(f"The goal names the secret {strange[0]!r}, but secrets= does not: add it there.")
    if secrets is not None or not is_placeholder(goal):
        return allowed  # an explicit list cannot be extended by arguments
    for name, value in subgoal.data.items():
        if any(is_placeholder(text) and text.strip() in goal for text in strings_in(value)):
            raise UnfitItem(
                f"The goal contains the value of the argument {name!r}, which is data. Remove the value, and write "
                "the argument's name."
            )
    for name, value in _arguments(goal, subgoal):
        if any(map(is_placeholder, strings_in(value))):
            raise UnfitItem(
                f"The argument {name!r} of {subgoal.goal!r} names a secret, and the goal repeats it. Only the author "
                "of a goal may name secrets. If the argument comes from outside, declare it as data: "
                f"@subgoal(data=({name!r},)). Otherwise list the secrets that may be typed: secrets=(…)."
            )
    return allowed


def _arguments(goal: str, subgoal: Subgoal) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of the sub-goal, without an argument that is the whole goal and so comes from its author."""
    for name, value in subgoal.arguments.items():
        if not (isinstance(value, str) and value.strip() == goal):
            yield name, value


def _named_by_arguments(goal: str, subgoal: Subgoal) -> frozenset[str]:
    """Return the names of secrets in the arguments of the sub-goal, where they are only text."""
    values = [*subgoal.data.values(), *(value for _, value in _arguments(goal, subgoal))]
    return frozenset().union(*(names_in(text) for value in values for text in strings_in(value)))


async def perform(do: Do, what: str, screens: Screens | None = None) -> Any:
    """Run the declared work of an interruption, a way or a probe: a script, or an async function such as a sub-goal.

    It does not count as a step of the progress line. Of the sub-goal around it, it keeps only the business token and
    the advisor. Interruptions in ``screens`` are cleared during the work, but not in a nested sub-goal, which declares
    its own.
    """
    around = current_subgoal()
    token, advisor = (around.token, around.advisor) if around else ("", "")
    here = Subgoal(0, what, "", token, advisor, options=SubgoalOptions(screens=screens))
    with as_current_subgoal(here), progress(1):
        if isinstance(do, Scripted):
            return await pursue(what, options=SubgoalOptions(layers=[do]))
        return await do()


def task_text(goal: str, progress: str, returns: Any, data: str = "") -> str:
    """Return the task message: the goal, the data, the progress line, and the schema of the answer."""
    parts = [goal, data] if data else [goal]
    if progress:
        parts.append(f"Progress: {progress}")
    if returns is not str:
        schema = json.dumps(TypeAdapter(returns).json_schema(), ensure_ascii=False)
        parts.append(f"When done, answer with JSON that fits this schema, and nothing else: {schema}")
    return "\n\n".join(parts)


def reader_for(returns: Any) -> AnswerReader[Any]:
    """Return a function that parses an answer as ``returns``. It raises `ValueError` for a wrong answer."""
    if returns is str:
        return lambda text: text
    adapter: TypeAdapter[Any] = TypeAdapter(returns)

    def read(text: str) -> Any:
        try:
            return adapter.validate_json(text)
        except ValidationError as error:
            raise ValueError("; ".join(one.text("answer") for one in problems_of(error)[:3])) from None

    return read


async def _publish_timeline(run: Run, subgoal: Subgoal) -> None:
    if run.folder is None:
        return
    trace = open_trace(run.folder)
    markdown = await asyncio.to_thread(
        lambda: subgoal_markdown(
            trace.records(subgoal=subgoal.number), subgoal.number, trace.frame, trace_uri=run.trace
        )
    )
    await publish_markdown(f"timeline-{run.run_id}-{subgoal.number}", markdown, subgoal.progress or subgoal.title)
