"""Secrets come from the environment or from Prefect; a missing one stops a run before it starts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from prefect.blocks.system import Secret as SecretBlock
from prefect.types import SecretDict

from holo_blocks import HoloDesktop
from holo_tasks import InvalidUsage
from holo_tasks.cli.commands import main
from holo_tasks.cli.parser import command_line
from holo_tasks.cli.run_command import run as run_command
from holo_tasks.cli.run_command.settings import Outcome, Settings
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop.programs.environment import for_programs
from holo_tasks.prefect_server.temporary import TemporaryServer
from holo_tasks.run.prefect_edge.final_states import failed_state
from holo_tasks.run.rules.secret_sources import SecretSpec, resolved
from holo_tasks.safety import scrubbing
from holo_tasks.safety.scrubbing import secrets_registered


@pytest.fixture(autouse=True)
def nothing_hushed_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the secrets that a command registers for the lifetime of its process."""
    monkeypatch.setattr(scrubbing, "_known", ())


async def test_the_environment_variable_is_named_after_the_secret_and_comes_first() -> None:
    spec = SecretSpec.parse("portal-password=/usr/bin/xterm")
    found = await resolved([spec], environ={"HOLO_SECRET_PORTAL_PASSWORD": "Kranich"})
    assert found == {"portal-password": Secret("portal-password", "Kranich", "/usr/bin/xterm")}
    other = SecretSpec(name="pin", source="env:OTHER", title="Sign on")
    assert await resolved([other], environ={"OTHER": "4711"}) == {"pin": Secret("pin", "4711", title="Sign on")}


async def test_a_given_value_gets_the_binding_of_its_spec() -> None:
    found = await resolved([SecretSpec(name="pin", program="xterm")], given={"pin": "4711", "key": "0815"}, environ={})
    assert found == {"pin": Secret("pin", "4711", "xterm"), "key": Secret("key", "0815")}


async def test_a_missing_secret_is_reported_with_the_searched_places() -> None:
    with pytest.raises(InvalidUsage, match="HOLO_SECRET_PIN is not set, and no Prefect server is set up"):
        await resolved([SecretSpec(name="pin")], environ={}, blocks=False)
    with pytest.raises(InvalidUsage, match=r"has no value: the environment variable HERE is not set\."):
        await resolved([SecretSpec(name="pin", source="env:HERE")], environ={"HOLO_SECRET_PIN": "x"}, blocks=False)


@pytest.mark.parametrize("text", ["pin code=xterm", "=xterm", "", "hunter2!"])
def test_an_invalid_name_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InvalidUsage, match="NAME=PROGRAM") as refused:
        SecretSpec.parse(text)
    assert not text or text not in str(refused.value)


async def test_a_prefect_block_supplies_a_secret_without_a_variable(prefect: str) -> None:
    await SecretBlock(value="Kranich").asave("portal-password", overwrite=True)
    desktop = HoloDesktop(
        app="xterm",
        secrets=SecretDict({"pin": "4711"}),
        named_secrets=(SecretSpec(name="portal_password"), SecretSpec(name="again", source="block:portal-password")),
    )
    await desktop.asave("with-names", overwrite=True)
    loaded: Any = await HoloDesktop.aload("with-names")
    found = await loaded.resolved_secrets()
    assert {name: secret.value for name, secret in found.items()} == {
        "pin": "4711",
        "portal_password": "Kranich",
        "again": "Kranich",
    }
    with pytest.raises(InvalidUsage, match="Prefect has no Secret block 'nowhere'"):
        await loaded.resolved_secrets([SecretSpec(name="nowhere")])


async def test_on_a_foreign_display_a_secret_must_be_bound() -> None:
    desktop = HoloDesktop(display=":7", secrets=SecretDict({"pin": "4711"}))
    with pytest.raises(InvalidUsage, match="not bound to a program"):
        await desktop.resolved_secrets()
    bound = desktop.model_copy(update={"named_secrets": (SecretSpec(name="pin", program="xterm"),)})
    assert (await bound.resolved_secrets())["pin"].program == "xterm"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--app", "xterm", "--secret", "pin"], "HOLO_SECRET_PIN is not set"),
        (["--display", ":7", "--secret", "here"], "not bound to a program"),
        (["--app", "xterm", "--secret", "a value!"], "NAME=PROGRAM"),
    ],
)
def test_the_command_is_refused_before_anything_is_started(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.setenv("HOLO_SECRET_HERE", "Kranich")
    monkeypatch.setenv("HOLO_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.setattr("holo_tasks.cli.commands.interrupt_at_signals", lambda: None)
    monkeypatch.setattr("holo_tasks.cli.commands.narrow_umask", lambda: None)
    monkeypatch.setattr("holo_tasks.cli.exit.leave", lambda code: None)
    with pytest.raises(SystemExit) as ended:
        main(["run", "Do it.", "--base-url", "http://127.0.0.1:9/v1", "--json", *options])
    told = capsys.readouterr()
    assert ended.value.code == 2
    assert said in told.err
    assert json.loads(told.out)["status"] == "invalid"
    assert "Kranich" not in told.err + told.out


def test_a_temporary_prefect_server_inherits_no_secrets(tmp_path: Path) -> None:
    kept = {"PATH": os.environ["PATH"], "PREFECT_HOME": str(tmp_path), "PREFECT_API_KEY": "its own"}
    server = TemporaryServer({**kept, "HOLO_SECRET_PIN": "Kranich", "HAI_API_KEY": "Kranich", "AWS_KEY": "Kranich"})
    try:
        environment = Path(f"/proc/{server._process.pid}/environ").read_bytes()
    finally:
        server.stop()
    assert b"Kranich" not in environment
    assert b"PREFECT_API_KEY=its own" in environment


def test_programs_do_not_inherit_variables_with_secrets() -> None:
    ours = {"MY_PIN": "Kranich", "URL": "https://me:Kranich@host", "HOLO_SECRET_X": "x", "HOLO_SIGNING_KEY": "k"}
    env = for_programs({**ours, "PATH": "/bin"}, {"LICENCE": "Kranich"}, ["Kranich"])
    assert {name: text for name, text in env.items() if name in (*ours, "PATH", "LICENCE")} == {
        "PATH": "/bin",
        "LICENCE": "Kranich",
    }


async def test_a_variable_that_is_not_valid_text_is_reported() -> None:
    with pytest.raises(InvalidUsage, match="HOLO_SECRET_PIN does not hold valid UTF-8"):
        await resolved([SecretSpec(name="pin")], environ={"HOLO_SECRET_PIN": "Kranich\udcff"})


async def test_the_line_break_at_the_end_of_a_file_is_not_typed() -> None:
    found = await resolved([SecretSpec(name="pin")], environ={"HOLO_SECRET_PIN": "Kranich\n"})
    assert found["pin"].value == "Kranich"


def test_an_unknown_program_may_be_a_value_and_is_not_repeated() -> None:
    assert "Kranich" not in Secret("pin", "4711", "Kranich").place
    assert Secret("pin", "4711", "sh").place == "windows of sh"


def test_programs_keep_essential_variables() -> None:
    ours = {"PATH": "/bin", "HOME": "/home/root", "LC_ALL": "C.UTF-8", "OTHER": "root", "SHELL": "/bin/bash"}
    env = for_programs(ours, {}, ["root", "/bin", "C.UTF-8", "bash"])
    assert {name for name in ours if name in env} == {"PATH", "HOME", "LC_ALL", "SHELL"}


def test_the_output_hides_values_and_changes_no_other_field(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.dumps({"status": "the status", "n": 123})
    done = Outcome("answered", 0, answer, 1, 0, "/answered/status", "status", "answered")
    with secrets_registered(
        Scrubber([Secret(f"s{n}", value) for n, value in enumerate(("status", "answered", "123"))])
    ):
        assert run_command._print_outcome(done, as_json=True) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {
        "status": "answered",
        "answer": json.dumps({"status": "the {{secret:s0}}", "n": 123}),
        "steps": 1,
        "cost_usd": 0.0,
        "trace": "/answered/status",
        "flow_run_id": "status",
    }
    assert told.err.endswith("trace: /answered/status\n")


def test_the_stored_command_has_all_options_without_values() -> None:
    given = [
        "run",
        "Type hunter2.",
        "--app=xterm -e hunter2",
        "--token",
        "act-7",
        "--allow",
        "act",
        "--max-steps",
        "30",
        "--base-url=http://me:Kranich@127.0.0.1:9/v1",
    ]
    options = command_line().parse_args(given)
    options.given = given
    scrubber = Scrubber([Secret("a", "hunter2"), Secret("b", "act"), Secret("c", "30"), Secret("d", "run")])
    assert run_command._repeatable_arguments(options, scrubber) == (
        *("run", "Type {{secret:a}}.", "--app=xterm -e {{secret:a}}"),
        *("--token", "act-7", "--allow", "act", "--max-steps", "30", "--base-url=http://127.0.0.1:9/v1"),
    )


def test_the_command_names_withheld_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"HOLO_HOME": str(tmp_path), "LEDGER_PASSWORD": "hunter2", "AWS_KEY": "x", "PORT": "1"}.items():
        monkeypatch.setenv(name, value)

    def told(*given: str) -> str:
        options = command_line().parse_args(["run", "File it.", "--base-url", "http://127.0.0.1:9/v1", *given])
        options.given = []
        run_command._print_withheld_variables(options.app, run_command._settings(options))
        return capsys.readouterr().err

    said = told("--app", "xterm")
    assert "LEDGER_PASSWORD" in said
    assert "HOLO_PROGRAM_ENV" in said
    assert said.count("\n") == 1
    assert not any(quiet in said for quiet in ("hunter2", "AWS_KEY", "PORT"))
    assert told("--display", ":7") == ""


def test_data_and_fields_are_given_on_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path))
    monkeypatch.setenv("HOLO_SECRET_PIN", "Kranich-7")

    def settings(*given: str) -> Settings:
        options = command_line().parse_args(
            ["run", "File it.", "--app", "xterm", "--base-url", "http://127.0.0.1:9/v1", *given]
        )
        options.given = list(given)
        return run_command._settings(options)

    plain = settings()
    told = settings(
        "--data", "note=a = b, of Kranich-7", "--data=to=x", "--secret", "pin", "--secret-field", "pin=The PIN"
    )
    assert told.data == {"note": "a = b, of {{secret:pin}}", "to": "x"}
    assert told.secrets["pin"].fields == ("The PIN",)
    assert told.arguments[1] == "note=a = b, of {{secret:pin}}"
    assert (plain.data, told.inputs != plain.inputs) == ({}, True), "other data make it other work"
    for wrong, why in (
        (["--data", "note"], "NAME=VALUE"),
        (["--data", "a=1", "--data", "a=2"], "each name once"),
        (["--data", "1a=1"], "not a name for data"),
        (["--secret-field", "pin=PIN"], "with a NAME of --secret or --totp"),
        (["--secret", "pin", "--secret-field", "pin="], "NAME=LABEL"),
        (["--secret", "pin", "--secret-field", "pim=PIN"], "with a NAME of --secret or --totp"),
    ):
        with pytest.raises(InvalidUsage, match=why):
            settings(*wrong)


async def test_a_desktop_block_binds_a_secret_to_fields() -> None:
    block = HoloDesktop(
        app="xterm", named_secrets=({"name": "pin", "fields": ["PIN"]},), secrets=SecretDict({"pin": "4711"})
    )
    assert (await block.resolved_secrets())["pin"].fields == ("PIN",)


def test_a_failed_state_hides_values_of_custom_errors() -> None:
    class Stubborn(InvalidUsage):
        def __str__(self) -> str:
            return "Kranich"

    with secrets_registered(Scrubber([Secret("a", "Kranich")])):
        state = failed_state(Stubborn("x"))
    assert "Kranich" not in f"{state.message}{state.data}"
