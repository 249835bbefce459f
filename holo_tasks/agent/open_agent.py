"""Open a run on a desktop: trace, model, budget, kill switch, redaction. `open_agent` is the context manager.

`open_agents` and the block `HoloAgent` use it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger
from prefect.settings import get_current_settings

from holo_tasks.agent.judge import shows
from holo_tasks.audit import Delivery, Destination, TraceRecorder
from holo_tasks.audit.recorder import new_run_id
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import Status
from holo_tasks.core.limits.budget import Guard
from holo_tasks.core.ports import ArrangesWindows, Desktop, Recorder, ReportsElements, ReportsWindows
from holo_tasks.core.prompts.model import Model
from holo_tasks.core.renamed_arguments import renamed
from holo_tasks.core.secrets.codes import NO_CODES, Codes
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.core.secrets.secret import Secret, values_of
from holo_tasks.core.texts.outside_text import named
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.handoff.approval_by_person import ByHandOff
from holo_tasks.handoff.hand_over import Helper
from holo_tasks.kill.run_registry import Running
from holo_tasks.kill.sources import sources_for
from holo_tasks.kill.switch import KillSwitch
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.services import Services
from holo_tasks.machine.home import holo_home
from holo_tasks.machine.memory import reuse
from holo_tasks.machine.patience import retry_async_while_unavailable
from holo_tasks.machine.process_protection import close_process
from holo_tasks.models.address import shown
from holo_tasks.models.build_model import model_at
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.encoding import ENCODERS
from holo_tasks.models.profile import Profile
from holo_tasks.prefect_server.local_only import check_advisors, check_rest, enter_late
from holo_tasks.prefect_server.temporary import OPEN, is_open
from holo_tasks.run.desktops.discovery import Discovery
from holo_tasks.run.event_listeners import ForwardingRecorder, Listener
from holo_tasks.run.hooks import Subscribed
from holo_tasks.run.items.dead_letters import file_noted
from holo_tasks.run.items.journal import not_untouched
from holo_tasks.run.prefect_edge.flow_context import attempt, deployment_id, flow_run_id, in_part_of_another
from holo_tasks.run.prefect_edge.log_filter import one_line_errors
from holo_tasks.run.prefect_edge.unreported_runs import report_and_log
from holo_tasks.run.rules.redactors import redactor_for, text_filter
from holo_tasks.run.rules.remote_screen_rules import check_remote_rules
from holo_tasks.run.rules.screen_text_rules import unread_text_warning
from holo_tasks.run.run import Run, check_price, current_guard, guarded, open_run, status_and_reason
from holo_tasks.run.run_options import RunOptions
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules
from holo_tasks.safety.records.approvals import Approvals, OnRequest
from holo_tasks.safety.records.budgets import Budgets
from holo_tasks.safety.records.handoffs import Handoffs
from holo_tasks.safety.records.items import Items
from holo_tasks.safety.records.ledger import Ledger
from holo_tasks.safety.records.run_list import RunBook
from holo_tasks.safety.records.used_codes import UsedCodes
from holo_tasks.safety.scrubbed_model import ScrubbedRecorder, with_scrubber
from holo_tasks.safety.scrubbing import scrub_error, scrub_logs, secrets_registered
from holo_tasks.safety.typed_secrets.typed_fields import TypedFields
from holo_tasks.telemetry.observer_factory import observer_for
from holo_tasks.vision.control_text import ScreenText, can_read
from holo_tasks.vision.field_text import FieldReader
from holo_tasks.vision.spot_text import SpotText

TITLE_CHARACTERS = 200
SILENT_S = 5.0
"""Seconds of delivering the evidence after which a warning is logged."""

logger = logging.getLogger(__name__)


_OPTIONS = {one.name: f"options=RunOptions({one.name}=…)" for one in fields(RunOptions)}


@renamed(**_OPTIONS, token="options=RunOptions(key=…)")
@asynccontextmanager
async def open_agent(
    *,
    title: str,
    desktop: Desktop,
    endpoint: ModelEndpoint,
    profile: Profile,
    destination: Destination,
    options: RunOptions | None = None,
    dialect: str = "auto",
    advisors: Mapping[str, Model] | None = None,
    secrets: Mapping[str, Secret] | None = None,
    home: Path | None = None,
    began_s: float | None = None,
    aloud: Listener | None = None,
    run_id: str = "",
) -> AsyncIterator[Run]:
    """Open a run on a desktop. It sends no input unless ``options`` allow it (see `RunOptions`).

    ``options`` have its rules, limits and hand-offs. The model is the one of ``profile`` at ``endpoint``. ``advisors``
    are further models by name, for `judge`. The evidence goes to ``destination``.

    ``secrets`` may be typed by name, by default those of the desktop. Their values are removed from everything that
    leaves the process, and masked on the screen if the redaction reads it. ``aloud`` is a listener for a person who
    watches this run. ``began_s`` is the begin of the work on the monotonic clock, by default now: a kill of all runs
    stops work that began before it. ``run_id`` sets the id of the run.

    At the end of the block the trace is closed, and delivered or kept in the spool. A kill cancels the task
    (`asyncio.CancelledError`).
    """
    options = options or RunOptions()
    reuse()  # memory settings for a process with thousands of pictures
    close_process()  # this process holds keys and secrets, and the desktop's program may belong to the same user
    prefect_url, limits, redaction = get_current_settings().api.url, options.limits, options.redaction
    if endpoint.local_only:
        enter_late(os.environ, prefect_url)
    one_line_errors()
    known: Mapping[str, Secret] = getattr(desktop, "secrets", {}) if secrets is None else secrets
    check_remote_rules(getattr(desktop, "far", ""), options.policy, redaction, known)
    password: Secret | None = getattr(desktop, "password", None)
    codes = Codes(known.values(), time.time)
    scrubber = Scrubber([*known.values(), *([password] if password else [])], codes)
    title, model, advisors = _without_values(
        scrubber, options.key, named(title, TITLE_CHARACTERS), model_at(endpoint, profile, dialect), advisors or {}
    )
    typed = TypedFields(used_before=not getattr(desktop, "rebuilt", False))
    for asked in (model, *advisors.values()):
        check_price(asked.name, asked.price, limits)
    if endpoint.local_only:
        check_advisors(advisors)
        destination = await asyncio.to_thread(check_rest, destination, prefect_url)
    if options.waits:
        await asyncio.to_thread(warn_if_open, prefect_url)
    watch = observer_for(os.environ, local_only=endpoint.local_only)
    where = home or holo_home()
    store = store_at(where)
    await _report_earlier_runs(where, options.policy)
    labels = {name: secret.fields for name, secret in known.items() if secret.fields}
    values, seeds = values_of(known), {name: seed for name, one in known.items() if (seed := one.seed) is not None}
    redactor = await asyncio.to_thread(redactor_for, redaction, values, typed, codes)
    if redaction is not None and redaction.windows and isinstance(desktop, ReportsWindows):
        desktop.tells_windows = True
    book = RunBook(store)
    await retry_async_while_unavailable(
        lambda: asyncio.to_thread(book.check)
    )  # before there is a trace of a run that cannot begin
    recorder = await asyncio.to_thread(lambda: destination.open(run_id or new_run_id(), home=where))
    subscribed = Subscribed(options.hooks, watch)
    kept_by: Recorder = ForwardingRecorder(
        watch.recorder(recorder), (subscribed.on_event, aloud.on_event) if aloud else (subscribed.on_event,)
    )
    run_id, trace, inside = recorder.run_id, recorder.uri, flow_run_id()
    with secrets_registered(scrubber):
        most = Guard(title, limits, 0.0, current_guard()).cost_limit_micro
        async with _on_run_list(book, recorder, title, model.name, most) as listed:
            under_way = Running.here(run_id, title, trace, inside, began_s)
            outside = Services(
                desktop=desktop,
                redactor=redactor,
                encoder=ENCODERS[options.image_quality],
                model=model,
                policy=options.policy,
                recorder=ScrubbedRecorder(kept_by, scrubber),
                now_s=time.monotonic,
                purse=Budgets(store),
                approver=ByHandOff()
                if options.waits
                else OnRequest(Approvals(store), run_id=run_id, trace=trace, flow_run_id=inside),
                reader=ScreenText() if (options.policy.confirm or labels) and can_read() else None,
                elements=elements_of(desktop, redaction, values, codes),
                field_text=FieldReader() if can_read() else None,
                screen_text=ScreenText() if can_read() else None,
                spots=SpotText() if can_read() else None,
                typed=typed.typed,
                codes=codes,
                one_time=UsedCodes(store, seeds) if seeds else None,
                secret_fields=labels,
                person=Helper() if options.waits else None,
                corrections=options.max_corrections,
                arranges=desktop if isinstance(desktop, ArrangesWindows) and options.policy.trust == "act" else None,
            )
            with guarded("The run", limits, options.budget or (f"flow:{inside}" if inside else "")) as guard:
                run = Run(
                    run_id=run_id,
                    title=title,
                    options=options,
                    outside=outside,
                    advisors=advisors,
                    trace=trace,
                    folder=recorder.folder,
                    home=where,
                    guard=guard,
                    switch=KillSwitch(
                        desktop, under_way, where, sources_for(under_way, store, part=in_part_of_another())
                    ),
                    ledger=Ledger(store),
                    items=Items(store),
                    handoffs=Handoffs(store),
                    flow_run_id=inside,
                    deployment_id=deployment_id(),
                    attempt=attempt(),
                    log=_log(),
                    subscribed=subscribed,
                    discovery=discovery_of(options, values, codes),
                    wants=aloud.on_handoff if aloud else lambda handoff: None,
                    ask=shows,
                )
                subscribed.aside = run.run_in_background
                async with open_run(run):
                    listed.run = run
                    if aloud:
                        aloud.on_start(model.name, trace)
                    run.run_in_background(report_and_log(where))
                    with not_untouched(run.guard):
                        yield run


def elements_of(
    desktop: Desktop, redaction: Redaction | None, values: Mapping[str, str], codes: Codes = NO_CODES
) -> Elements | None:
    """Return the redacted reader of the accessibility tree, or ``None`` if the desktop has none."""
    if not isinstance(desktop, ReportsElements):
        return None
    return Elements(desktop, text_filter(redaction, values, codes), unseen=redaction is None)


def discovery_of(options: RunOptions, values: Mapping[str, str], codes: Codes = NO_CODES) -> Discovery | None:
    """Return the discovery of the machine's inventory, redacted like a screen. ``None`` if it is off."""
    redaction = options.redaction
    if options.finds_out is None:
        return None
    screen = redaction is None or redaction.mode == "paint"
    return Discovery(options.finds_out, text_filter(redaction, values, codes), unseen=redaction is None, screen=screen)


def _without_values(
    scrubber: Scrubber, key: str, title: str, model: Model, advisors: Mapping[str, Model]
) -> tuple[str, Model, Mapping[str, Model]]:
    """Return the title and the models with a filter for the values of secrets.

    The filter is also set without any secret, because a code that arrives by mail becomes one. Raises `InvalidUsage` if
    ``key`` contains the value of a secret.
    """
    scrub_logs()
    if scrubber.holds(key):
        raise InvalidUsage(
            f"The token or key contains the value of a secret ({exact(scrubber.text(key))}), and tokens are stored. "
            "Use another one."
        )
    hidden = {name: with_scrubber(advisor, scrubber) for name, advisor in advisors.items()}
    return scrubber.text(title), with_scrubber(model, scrubber), hidden


async def _report_earlier_runs(home: Path, rules: Rules) -> None:
    """File the dead-letter notes of earlier runs, and log that. Warn if rules need OCR that is not installed."""
    for noted in await asyncio.to_thread(file_noted, home):
        logger.warning("%s", noted)
    if said := unread_text_warning(rules):
        _log().warning("%s", said)


@dataclass
class _RunHolder:
    """Holder of the run on the list of runs, set once it is open."""

    run: Run | None = None


@asynccontextmanager
async def _on_run_list(
    book: RunBook, recorder: TraceRecorder, title: str, model: str, limit_micro: int | None
) -> AsyncIterator[_RunHolder]:
    """Record the begin and the end of a run on the list of runs. The trace is closed and delivered at the end."""
    listed = _RunHolder()

    async def ended(status: Status, reason: str, steps: int, spent_micro: int | None) -> None:
        with contextlib.suppress(InvalidUsage):  # the list is for people only; the trace has the end of the run
            await asyncio.to_thread(
                lambda: book.ended(recorder.run_id, status=status, reason=reason, steps=steps, spent_micro=spent_micro)
            )

    try:
        await asyncio.to_thread(
            lambda: book.began(
                recorder.run_id,
                title=title,
                model=model,
                limit_micro=limit_micro,
                trace=recorder.uri,
                flow_run_id=flow_run_id(),
            )
        )
        yield listed
    except BaseException as error:
        if listed.run is None:
            await ended(*status_and_reason(error), steps=0, spent_micro=0)
        if (hidden := scrub_error(error)) is error:
            raise
        raise hidden from None
    finally:
        delivery = await close_recorder(recorder)
        log_head(recorder, delivery)
        if (run := listed.run) is not None:
            run.delivery = delivery
            await ended(run.status, run.reason, run.steps, run.guard.total_micro)
            await run.subscribed.watch.send_all(killed=run.status == "killed")
            for learning in run.learning.values() if run.status != "killed" else ():
                await learning.finish()


def _log() -> logging.Logger | logging.LoggerAdapter[logging.Logger]:
    """Return the flow run's logger, or the module's outside of a flow run."""
    try:
        return get_run_logger()
    except MissingContextError:
        return logger


@cache
def warn_if_open(prefect_url: str | None) -> None:
    """Log a warning, once per process, if the Prefect API accepts answers of hand-offs without a log-in."""
    if prefect_url is not None:
        which, found = f"at {shown(prefect_url)}", is_open(prefect_url)
    else:
        which, found = "that Prefect started for this flow", get_current_settings().server.api.auth_string is None
    if found:
        with contextlib.suppress(MissingContextError):
            get_run_logger().warning("The Prefect API %s %s.", which, OPEN)


async def close_recorder(recorder: TraceRecorder) -> Delivery:
    """Close and deliver a trace. Log a warning after `SILENT_S`, since a bucket that hangs is awaited for minutes."""
    waits = "The run is over and waits for its evidence to arrive in %s, for two minutes at most."
    word = asyncio.get_running_loop().call_later(SILENT_S, lambda: _log().warning(waits, recorder.uri))
    try:
        return await recorder.close()
    finally:
        word.cancel()


def log_head(recorder: TraceRecorder, delivery: Delivery) -> None:
    """Log the head of a closed trace. Prefect's server stores the log, so the head is kept outside the trace."""
    head = recorder.head
    with contextlib.suppress(MissingContextError):
        log = get_run_logger()
        log.info(
            "Trace %s: %d records, head %s, signed with key %s.",
            recorder.uri, head.records, head.sha256, recorder.fingerprint,
        )  # fmt: skip
        if delivery.doubt:
            log.warning("%s.", delivery.doubt)
