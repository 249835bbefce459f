"""`deployments/compose.yaml` and the values for Prefect's charts: their readers know every setting."""

from __future__ import annotations

import ast
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.settings.legacy import _get_settings_fields
from prefect.settings.models.root import Settings
from prefect_redis.client import RedisMessagingSettings

from tests.support.doc_pages import DOCS

DEPLOYMENTS = Path(__file__).parents[2] / "deployments"
TEXT = (DEPLOYMENTS / "compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ONCE = {name for name, service in SERVICES.items() if service.get("restart") == "no"}
OURS = {name for name, service in SERVICES.items() if service["image"].startswith("prefect-holo")}
SERVERS = {"server-1", "server-2", "services"}
POSTGRES = {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD", "HOLO_DATABASE_PASSWORD"}


def secrets_of(tmp_path: Path) -> dict[str, str]:
    """Let the command write its secrets; return them."""
    path = tmp_path / "holo.env"
    command = [sys.executable, str(DEPLOYMENTS / "write_secrets.py"), str(path)]
    subprocess.run(command, check=True, timeout=60)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (again.returncode, "its secrets are in use" in again.stderr) == (1, True)
    return dict(line.split("=") for line in path.read_text().splitlines())


def test_the_command_writes_all_required_secrets_and_the_file_contains_none(tmp_path: Path) -> None:
    written = secrets_of(tmp_path)
    assert len(set(written.values())) == len(written)
    assert all(len(value) == 48 and value.isalnum() for value in written.values()), "secrets appear in URLs unescaped"
    plain = re.sub(r"\$\$", "", TEXT)
    assert set(re.findall(r"\$\{(\w+):\?\}", plain)) == written.keys()
    assert set(re.findall(r"\$\{?(\w+)", plain)) == {*written, "PUBLIC_URL"}
    for name, value in settings():
        if re.search("PASSWORD|SECRET|AUTH_STRING|_URL$", name) and "://" not in value.split("@")[0]:
            assert "${" in value or "://" in value, name


def settings() -> Iterator[tuple[str, str]]:
    for service in SERVICES.values():
        yield from service.get("environment", {}).items()


def test_every_variable_is_known_to_its_reader() -> None:
    prefect = _get_settings_fields(Settings).keys()
    redis = {f"PREFECT_REDIS_MESSAGING_{name.upper()}" for name in RedisMessagingSettings.model_fields}
    ours = set(re.findall(r"`([A-Z][A-Z_]+)`", (DOCS / "reference" / "environment.md").read_text(encoding="utf-8")))
    assert {name for name, _ in settings()} <= {*prefect, *redis, *ours, *POSTGRES, "REDISCLI_AUTH"}


def test_two_servers_share_state_in_redis_through_installed_modules() -> None:
    modules = {value for _, value in settings() if value.startswith("prefect_redis.")}
    assert modules == {"prefect_redis.messaging", "prefect_redis.ordering", "prefect_redis.lease_storage"}
    assert all(import_module(name) for name in modules)
    assert SERVICES["server-1"] == SERVICES["server-2"]
    first = SERVICES["server-1"]["environment"]
    assert all(SERVICES[name]["environment"] == first for name in SERVERS)
    assert "--no-services" in SERVICES["server-1"]["command"]


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_has_a_tag_and_every_service_a_health_check(name: str) -> None:
    service = SERVICES[name]
    image, _, tag = service["image"].rpartition(":")
    assert image
    assert "/" not in tag
    assert name in OURS or (re.search(r"\d+\.\d+", tag) and "latest" not in tag)
    if name not in ONCE | {"services"}:  # these have no address
        assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
    for other, wanted in service.get("depends_on", {}).items():
        if wanted["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[other]
        else:
            assert wanted["condition"] == "service_completed_successfully"
            assert other in ONCE


def test_volumes_and_files_are_declared() -> None:
    mounted = [volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])]
    assert set(mounted) == COMPOSE["volumes"].keys()
    given = [one["source"] for service in SERVICES.values() for one in service.get("configs", [])]
    assert set(given) == COMPOSE["configs"].keys()


@pytest.mark.parametrize("name", sorted(OURS))
def test_desktop_containers_have_minimal_privileges(name: str) -> None:
    service = SERVICES[name]
    assert (service["read_only"], service["user"], service["cap_drop"]) == (True, "1000:1000", ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert {"mem_limit", "pids_limit", "shm_size", "tmpfs"} <= service.keys()
    assert not {"privileged", "ports", "pid", "network_mode"} & service.keys()


def test_only_this_machine_reaches_the_server_through_one_port() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"gateway": ["127.0.0.1:4200:8080"]}


def commands() -> Iterator[list[str]]:
    for name in sorted(SERVICES):
        command = SERVICES[name].get("command", [])
        if command[:1] == ["sh"]:
            python = command[2].partition("<<'END'\n")[2].partition("END")[0]
            ast.parse(python)
            yield from (shlex.split(line) for line in command[2].splitlines() if line.startswith("prefect "))
        elif command[:1] == ["prefect"]:
            yield command


@pytest.mark.parametrize("command", commands(), ids=lambda command: " ".join(command[1:4]))
def test_prefect_accepts_the_commands(command: list[str]) -> None:
    from prefect.cli._app import _app

    _app.parse_args([word for word in command[1:] if word != "--no-prompt"], exit_on_error=False, print_error=False)


def test_workers_serve_every_queue_of_the_deployments() -> None:
    taken = {command[at + 1] for command in commands() for at, word in enumerate(command) if word == "--work-queue"}
    listed = yaml.safe_load((DEPLOYMENTS / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    assert taken == {one["work_pool"]["work_queue_name"] for one in listed}


@pytest.mark.parametrize("chart", ["server", "worker"])
def test_chart_values_contain_no_secret(chart: str) -> None:
    text = (DEPLOYMENTS / "helm" / f"{chart}.yaml").read_text(encoding="utf-8")
    values = yaml.safe_load(text)
    assert not re.search(r"^\s*(password|authString|connectionString|url):", text, re.MULTILINE)
    login = values[chart].get("basicAuth") or values[chart]["selfHostedServerApiConfig"]["basicAuth"]
    assert login == {"enabled": True, "existingSecret": "prefect-login"}
    if chart == "server":
        prefect = _get_settings_fields(Settings).keys()
        assert {one["name"] for one in values["global"]["prefect"]["env"]} <= prefect
