"""`holo-tasks run`: check the options, start the desktop and Prefect, and run the goal.

`run_command` is the command. Other commands use the functions that read an option, such as `settle_of`.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holo_tasks.cli.signals import cancel_at_signals
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.texts.key_text import key_text
from holo_tasks.machine.network_variables import check_network_variables
from holo_tasks.machine.output import put, say, without_secrets

if TYPE_CHECKING:
    import asyncio

    from holo_tasks.audit import Destination
    from holo_tasks.cli.run_command.progress import FollowedRun
    from holo_tasks.cli.run_command.settings import Outcome, Replay, Settings
    from holo_tasks.core.screen.geometry import Size
    from holo_tasks.core.secrets.scrub import Scrubber
    from holo_tasks.core.secrets.secret import Secret
    from holo_tasks.desktop import AttachedDesktop, Settle, VirtualDesktop
    from holo_tasks.desktop.sandbox.folders import Access
    from holo_tasks.prefect_server.temporary import TemporaryServer
    from holo_tasks.run.rules.secret_sources import SecretSpec
    from holo_tasks.safety.masking.settings import Redaction
    from holo_tasks.safety.policy import Rules

MAX_SIDE = 16_384
MOST_NAMED = 12
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
TOLD_AFTER_S = 1.0
"""Seconds of waiting before a run begins after which a message names the cause of the wait."""
followed: FollowedRun | None = None
"""The run id and the progress file for the MCP server; `mcp.child` sets it before the command begins."""


def run_command(options: argparse.Namespace) -> int:
    """Run a goal and return the exit code of its status."""
    import logging
    from dataclasses import replace

    from holo_tasks.cli.exit import run
    from holo_tasks.cli.run_command.earlier_replay import earlier_replay, keep_this_replay, refused
    from holo_tasks.cli.run_command.settings import already_done
    from holo_tasks.cli.verify import ready
    from holo_tasks.machine.patience import retry_while_unavailable, tells
    from holo_tasks.prefect_server import local_only
    from holo_tasks.prefect_server.temporary import TemporaryServer, configured_api_url, require_server

    # With --json a program reads stderr and expects only the error there.
    tells.set((lambda text: None) if options.json else say)
    # Wrong options and finished items are found before anything is started: Prefect takes seconds to load.
    _scrub_environment(options)
    stays = local_only.enter(os.environ, by_option=options.local_only)
    check(options)
    check_network_variables(os.environ)
    # Secrets may come from Prefect's blocks, so its address is pinned before the lookup.
    url = local_only.pin_prefect(os.environ) if stays else configured_api_url(os.environ)
    settings = _settings(options)
    if stays:
        local_only.check_run(settings.base_url, settings.audit, url)
    retry_while_unavailable(settings.audit.check)
    done = retry_while_unavailable(lambda: already_done(settings))
    before = retry_while_unavailable(lambda: earlier_replay(settings))
    if settings.playbook is not None and before is not None:
        done = done or refused(settings.playbook, before)
    if done:
        return _print_outcome(done, as_json=options.json, replayed=options.playbook is not None)
    ready(settings.home)
    if not options.json:
        _print_withheld_variables(options.app, settings)
        _print_missing_profile(settings)
    _quiet_prefect()
    logging.raiseExceptions = False
    server: TemporaryServer | None = None
    if url is None:
        server = TemporaryServer(os.environ, blocks=False)
        # Prefect reads its settings at import, so its address and log-in are set before.
        server.enter(os.environ)
        settings = replace(settings, temporary=True)
    else:
        retry_while_unavailable(lambda: require_server(url))
    try:
        outcome = run(_run_async(settings, server))
    finally:
        if server is not None:
            server.stop()
    keep_this_replay(settings, outcome, before)
    outcome = replace(outcome, done_before=before)
    return _print_outcome(outcome, as_json=options.json, replayed=options.playbook is not None)


def _print_withheld_variables(app: str | None, settings: Settings) -> None:
    """Print the environment variables that the program of --app does not get, since it may fail without them."""
    from holo_tasks.desktop.programs.environment import PASSED_ON, withheld_names

    if app is None:
        return
    names = withheld_names(os.environ, [secret.value for secret in settings.secrets.values()])
    if names:
        shown = ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
        say(f"the program does not get {shown}, which may be private. Name the variables that it needs in {PASSED_ON}.")


def _print_missing_profile(settings: Settings) -> None:
    """Print that the model has no profile, so its cost is unknown."""
    from holo_tasks.models.profile import profiles

    if settings.profile.name not in profiles():
        say(f"{settings.profile.name} has no profile (`holo-tasks models`): the default conventions are used, and its "
            "cost is unknown.")  # fmt: skip


def _quiet_prefect() -> None:
    """Set Prefect's settings for a command, before it is imported: no analytics and no log on the console."""
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "0")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    # The command itself prints how a run ended. Prefect's messages are in its UI.
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_INTERNAL_LOGGING_LEVEL", "CRITICAL")


def _scrub_environment(options: argparse.Namespace) -> None:
    """Remove the values of secrets in the environment from messages, before other options are checked."""
    if options.secret or options.totp:
        from holo_tasks.core.secrets.secret import Secret

        specs = _specs(options)
        register_values(
            Secret(spec.name, value) for spec in specs if _is_text(value := os.environ.get(spec.variable, ""))
        )


def _is_text(value: str) -> bool:
    return bool(value.strip()) and value == value.encode(errors="replace").decode()


def register_values(secrets: Iterable[Secret]) -> None:
    """Remove the values of secrets from all further output of this command."""
    from holo_tasks.core.secrets.codes import Codes
    from holo_tasks.core.secrets.scrub import Scrubber
    from holo_tasks.safety.scrubbing import register_secrets

    secrets = tuple(secrets)
    register_secrets(Scrubber(secrets, Codes(secrets, time.time)))


def _repeatable_arguments(options: argparse.Namespace, scrubber: Scrubber) -> tuple[str, ...]:
    """Return the command's arguments for the dead-letter list, so that `holo-tasks retry` can repeat the command.

    The values of secrets are removed from free texts, and a log-in from the model's address.
    """
    from holo_tasks.models.address import without_login

    free = {options.goal, options.app, *options.secret, *options.data}

    def kept(text: str) -> str:
        return without_login(text) if text == options.base_url else scrubber.text(text) if text in free else text

    return tuple(
        "=".join([*name, kept(text)])
        for word in options.given
        for *name, text in [word.split("=", 1) if word.startswith("--") else [word]]
    )


def check(options: argparse.Namespace) -> None:
    """Raise `InvalidUsage` for wrong options."""
    from holo_tasks.cli.settings import check_text
    from holo_tasks.loop.ask_model.corrections import check_corrections
    from holo_tasks.run.run_options import check_steps

    if not options.goal.strip():
        raise InvalidUsage("The goal is empty; say in a sentence what the agent should do.")
    if len(options.goal) > 100_000:
        raise InvalidUsage(f"The goal has {len(options.goal)} characters; 100000 is the limit.")
    for name in ("goal", "token"):
        check_text(name, getattr(options, name) or "")
    check_steps("--max-steps", options.max_steps)
    check_corrections("--max-corrections", options.max_corrections)
    if options.token is not None and not key_text(options.token):
        raise InvalidUsage("--token is empty; give the business item's own key, or leave it out.")
    if options.app is not None and not options.app.strip():
        raise InvalidUsage("--app is empty; give the command that starts the program.")
    _desktop(options, {})
    if options.playbook is None and (options.set or options.playbook_only or options.heal or options.again):
        raise InvalidUsage("--set, --heal, --again and --playbook-only need a playbook: add --playbook FILE.yaml.")


def _desktop(options: argparse.Namespace, secrets: Mapping[str, Secret]) -> VirtualDesktop | AttachedDesktop:
    """Return the desktop of the options without starting it. Raises `InvalidUsage` for wrong options."""
    from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
    from holo_tasks.machine.patience import tells

    run_as, size, monitor = _run_as(options), size_of(options.size), _monitor(options)
    folders, settle, profiles = _folders(options), settle_of(options), profiles_of(options)
    if options.app is None:
        display = display_of(options)
        return AttachedDesktop(display, secrets=secrets, settle=settle, monitor=monitor, tell=tells.get())
    return VirtualDesktop(
        size=size,
        settle=settle,
        app=options.app,
        secrets=secrets,
        inherits="plain",  # variables of the shell that look private are left out
        run_as=run_as,
        profiles=profiles,
        monitor=monitor,
        tell=tells.get(),
        network=options.network,
        folders=folders,
        memory_mb=options.memory_mb,
        cpus=options.cpus,
    )


def display_of(options: argparse.Namespace) -> str:
    """Return the display of ``--display``, else of DISPLAY. Raises `InvalidUsage` without either."""
    display: str | None = options.display if options.display is not None else os.environ.get("DISPLAY")
    if not display:
        raise InvalidUsage("There is no screen: give --app COMMAND to start a program, or --display :N.")
    return display


def _run_as(options: argparse.Namespace) -> str:
    user: str | None = options.run_as
    if user is None:
        return ""
    if options.app is None:
        raise InvalidUsage("--run-as names the user for the program of --app: give --app, or leave it out.")
    if not user.strip():
        raise InvalidUsage("--run-as is empty; give the name of a user, or leave it out.")
    return user.strip()


def profiles_of(options: argparse.Namespace) -> str:
    """Return ``--profiles``. Raises `InvalidUsage` if it is given without a program on a virtual desktop."""
    profiles: str = options.profiles
    if profiles != "new" and (options.app is None or options.display is not None):
        raise InvalidUsage("--profiles is for a program that --app starts on a virtual desktop: give --app.")
    return profiles


def _folders(options: argparse.Namespace) -> dict[str, Access]:
    """Return the folders for a sandboxed program, with the access to each."""
    given = options.network.strip() != "host" or options.folder or options.memory_mb or options.cpus
    if options.app is None and given:
        raise InvalidUsage(
            "--network, --folder, --memory-mb and --cpus are for the program that --app starts: add --app."
        )
    found: dict[str, Access] = {}
    for text in options.folder:
        path, _, access = text.rpartition("=") if text.endswith(("=read", "=write")) else (text, "", "read")
        found[os.path.abspath(path)] = "write" if access == "write" else "read"  # noqa: PTH100  # keeps links
    return found


def _monitor(options: argparse.Namespace) -> str:
    monitor: str | None = options.monitor
    if monitor is not None and not monitor.strip():
        raise InvalidUsage("--monitor is empty; give a monitor's name or number, or leave it out.")
    return (monitor or "").strip()


def settle_of(options: argparse.Namespace) -> Settle:
    """Return how long to wait for the screen to settle. Raises `InvalidUsage` for a wrong ``--patience``."""
    from holo_tasks.desktop import Settle

    if not (math.isfinite(options.patience) and options.patience >= 0):
        raise InvalidUsage(f"--patience is a number of seconds from 0 up, not {options.patience}.")
    return Settle(patience_s=options.patience)


def size_of(text: str) -> Size:
    """Parse the size of a virtual desktop, such as 1280x800."""
    from holo_tasks.core.screen.geometry import Size

    match = re.fullmatch(r"(\d{2,5})[xX](\d{2,5})", text.strip())
    if not match or not all(64 <= int(side) <= MAX_SIDE for side in match.groups()):
        raise InvalidUsage(f"--size must look like 1280x800, with sides from 64 to {MAX_SIDE}, not {text!r}.")
    return Size(int(match[1]), int(match[2]))


async def _run_async(settings: Settings, server: TemporaryServer | None) -> Outcome:
    """Start the desktop, the server and the imports concurrently, then run the goal."""
    import asyncio

    cancel_at_signals(asyncio.current_task())
    assert settings.desktop is not None
    coming_up = asyncio.create_task(settings.desktop.__aenter__())
    late = asyncio.get_running_loop().call_later(TOLD_AFTER_S, _print_waiting, settings, server, coming_up)
    try:
        await asyncio.to_thread(_load)
        if server is not None:
            await asyncio.to_thread(server.wait)
        desktop = await coming_up
        late.cancel()
        from holo_tasks.cli.run_command.flow import run_goal

        return await run_goal(settings, desktop)
    finally:
        late.cancel()
        coming_up.cancel()
        (started,) = await asyncio.gather(coming_up, return_exceptions=True)
        if not isinstance(started, BaseException):
            await started.close()


def _print_waiting(settings: Settings, server: TemporaryServer | None, coming_up: asyncio.Task[Any]) -> None:
    """Print the parts that a run waits for before it begins."""
    if settings.aloud:
        desktop = [] if coming_up.done() else ["the desktop"]
        prefect = "Prefect to load" if server is None else "a temporary Prefect server, because none is configured"
        say(f"waiting for {' and '.join([*desktop, prefect])}")


def _load() -> None:
    """Import Prefect, which takes seconds, while the desktop and the server start."""
    import holo_tasks.cli.run_command.flow  # noqa: F401


def _settings(options: argparse.Namespace) -> Settings:
    from holo_tasks.cli import settings as chosen
    from holo_tasks.cli.run_command.settings import Settings
    from holo_tasks.core.limits.budget import Limits
    from holo_tasks.core.person import HandOff
    from holo_tasks.core.secrets.codes import Codes
    from holo_tasks.core.secrets.scrub import Scrubber
    from holo_tasks.machine.home import holo_home
    from holo_tasks.models.dialects import dialect_for
    from holo_tasks.run.run_options import RunOptions

    base_url = chosen.base_url(options.base_url)
    profile = chosen.profile(options.model)
    dialect_for(profile, options.dialect)  # raises before anything is started
    if options.max_cost_usd is not None and profile.price is None:
        raise InvalidUsage(
            f"The price of {profile.name} is not known, so --max-cost-usd cannot be enforced; leave it out, or use a "
            "model with a known price."
        )
    key, home = None if options.playbook_only else chosen.api_key(base_url), holo_home()
    secrets = _secrets(options)
    scrubber = Scrubber(secrets.values(), Codes(secrets.values(), time.time))
    if options.token is not None and scrubber.holds(options.token):
        raise InvalidUsage("--token holds the value of a secret, and tokens are stored; give another one.")
    return Settings(
        goal=scrubber.text(options.goal.strip()),
        secrets=secrets,
        data=scrubber.plain(named_values(options.data, "--data")),
        playbook=_replay(options),
        base_url=base_url,
        profile=profile,
        desktop=_desktop(options, secrets),
        api_key=key,
        dialect=options.dialect,
        options=RunOptions(
            key=key_text(options.token or ""),
            max_steps=options.max_steps,
            max_corrections=options.max_corrections,
            limits=Limits(options.max_cost_usd, None, options.timeout),
            allow=options.allow,
            rules=rules_of(options.rules),
            redaction=redaction_of(options.redact, secrets),
            handoff=HandOff(options.hand_off) if options.hand_off is not None else False,
        ),
        audit=_evidence(chosen.audit(options.audit, home), options),
        home=home,
        arguments=_repeatable_arguments(options, scrubber),
        followed=followed,
        aloud=not options.json,  # with --json a program reads stderr and expects only the error there
    )


def _evidence(destination: Destination, options: argparse.Namespace) -> Destination:
    """Return the destination of evidence. Raises `InvalidUsage` if the program could reach it."""
    from holo_tasks.audit import Folder
    from holo_tasks.desktop.sandbox.folders import check_evidence

    if isinstance(destination, Folder):
        check_evidence(_folders(options), destination.path)
    return destination


def _secrets(options: argparse.Namespace) -> dict[str, Secret]:
    """Return the secrets by name. Prefect's blocks are read only for values that the environment does not have."""
    if not (options.secret or options.totp or options.secret_field):
        return {}
    import asyncio

    from holo_tasks.core.secrets.secret import check_bound
    from holo_tasks.machine.patience import retry_while_unavailable
    from holo_tasks.prefect_server.temporary import configured_api_url, require_server
    from holo_tasks.run.rules.secret_sources import resolved

    specs = _specs(options)
    for text in options.secret_field:
        specs = _with_field(specs, text)
    url = configured_api_url(os.environ)
    if url is not None and not all(os.environ.get(spec.variable) for spec in specs):
        retry_while_unavailable(lambda: require_server(url))
        _quiet_prefect()
    found = asyncio.run(resolved(specs, blocks=url is not None))
    register_values(found.values())
    check_bound(found, starts=options.app is not None)
    return found


def _specs(options: argparse.Namespace) -> list[SecretSpec]:
    """Parse --secret and --totp. Raises `InvalidUsage` for a name in both."""
    from holo_tasks.run.rules.secret_sources import SecretSpec

    values = [SecretSpec.parse(text) for text in options.secret]
    seeds = [SecretSpec.parse(text, totp=True) for text in options.totp]
    if both := {spec.name for spec in values} & {spec.name for spec in seeds}:
        raise InvalidUsage(f"--secret and --totp both name {min(both)!r}: a seed is given to --totp alone.")
    return [*values, *seeds]


def _with_field(specs: Sequence[SecretSpec], text: str) -> list[SecretSpec]:
    """Add a field label to one of the secrets, as ``NAME=LABEL`` says."""
    name, _, label = text.partition("=")
    if not label.strip() or name not in {spec.name for spec in specs}:
        raise InvalidUsage("--secret-field takes NAME=LABEL, with a NAME of --secret or --totp.")
    return [
        spec.model_copy(update={"fields": (*spec.fields, label.strip())}) if spec.name == name else spec
        for spec in specs
    ]


def named_values(given: Sequence[str], option: str) -> dict[str, str]:
    """Parse the values of a repeated option ``NAME=VALUE``. Each name may occur once."""
    from holo_tasks.cli.settings import check_text
    from holo_tasks.core.texts.outside_text import plain

    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name in found:
            raise InvalidUsage(f"{option} takes NAME=VALUE, each name once, not {text[:80]!r}.")
        found[name] = check_text(option.removeprefix("--"), value)
    return plain(found)


def _replay(options: argparse.Namespace) -> Replay | None:
    """Return the playbook of ``--playbook`` with its values, or ``None``. Raises `InvalidUsage` for wrong ones."""
    if options.playbook is None:
        return None
    from holo_tasks.cli.run_command.earlier_replay import digest_of_replay
    from holo_tasks.cli.run_command.settings import Replay
    from holo_tasks.scripts.playbook import load_playbook
    from holo_tasks.scripts.script import Script
    from holo_tasks.vision.control_text import can_read

    if not can_read():
        raise InvalidUsage("A playbook needs OCR to read the screen: pip install 'prefect-holo[rehearsal]'.")
    file, _, goal = options.playbook.partition("#")
    values = named_values(options.set, "--set")
    playbook = load_playbook(Path(file))
    goal = goal or (next(iter(playbook.goals)) if len(playbook.goals) == 1 else "")
    kinds = playbook.goals[goal].params if goal in playbook.goals else {}
    given = {name: _BOOLEANS.get(text, text) if kinds.get(name) == "bool" else text for name, text in values.items()}
    script = Script(Path(file), goal, **given).healing(options.heal or "propose")
    script.check_values()
    wanted = playbook.goals[goal]
    digest = digest_of_replay(f"{playbook.name}#{goal}", {**wanted.values, **values}, options.app)
    return Replay(script, values, options.playbook_only, wanted.again, digest, repeats=options.again)


def rules_of(path: Path | None) -> Rules | None:
    """Read the file of ``--rules``."""
    if path is None:
        return None
    from holo_tasks.safety.policy import Rules

    return Rules.load(path)


def redaction_of(path: Path | None, secrets: Mapping[str, Secret]) -> Redaction | None:
    """Read the file of ``--redact``. Raises `InvalidUsage` if it cannot be applied on this machine."""
    if path is None:
        return None
    from holo_tasks.run.rules.redactors import check
    from holo_tasks.safety.masking.settings import Redaction

    redaction = Redaction.load(path)
    check(redaction, {name: secret.value for name, secret in secrets.items()})
    return redaction


def _print_outcome(outcome: Outcome, *, as_json: bool, replayed: bool = False) -> int:
    from dataclasses import replace

    from holo_tasks.audit.pages.formatting import count
    from holo_tasks.core.limits.money import usd

    if outcome.message:
        say(f"{outcome.status}: {outcome.message}")
    answer = None if outcome.answer is None else without_secrets(outcome.answer)
    cost = "cost unknown" if outcome.cost_micro_usd is None else usd(outcome.cost_micro_usd)
    spent = f"{count(outcome.steps, 'step')}, {cost}"
    say(f"{outcome.status} after {spent}; trace:", f" {outcome.trace or 'none'}")
    if not as_json and answer is None:
        return outcome.exit_code
    text = replace(outcome, answer=answer).to_json(replayed=replayed) if as_json else str(answer)
    return put(text, outcome.exit_code)
