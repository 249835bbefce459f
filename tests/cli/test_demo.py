"""`holo-tasks demo` and `holo-tasks init`, in an empty folder with the wheel alone."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from holo_tasks.cli.init import EVERY, FLOWS, STARTERS
from holo_tasks.desktop import system_packages
from tests.support.command_line import InProcess, related
from tests.support.installed import OCR, OFFICE, ROOT, Installed, install

SETUP = (ROOT / "deployments" / "setup.sh").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def holo(tmp_path: Path) -> InProcess:
    return InProcess(tmp_path, None)


@pytest.mark.desktop
@pytest.mark.slow
def test_show_a_first_report_with_the_wheel_alone(installed: Installed, tmp_path: Path) -> None:
    found = installed(tmp_path, "python", "-c", "import holo_tasks; print(holo_tasks.__file__)").stdout
    assert Path(found.strip()).is_relative_to(installed.folder)
    # The demo must not spend money, and must not work on a server of the user.
    foreign = {"HAI_API_KEY": "a-key", "PREFECT_API_URL": "http://127.0.0.1:9/api"}
    ended = installed(tmp_path, "holo-tasks", "demo", env=foreign)
    folder = tmp_path / "holo-demo"
    assert ended.code == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1] == str(folder / "report.html")
    assert "Tandem Car Hire, EUR 318.60: flagged: the ledger says EUR 381.60" in ended.stdout
    assert "  click ‘Flag for review’" in ended.stdout.splitlines()
    assert json.loads((folder / "records.json").read_text()) == {"TX-10716": "receipt says 318.60"}
    assert (folder / "report.html").as_uri() in ended.stderr
    assert (folder / "runs.html").as_uri() in ended.stderr
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert all(title in report for title in ("Look up TX-10482", "Flag TX-10716", "Look up TX-19357"))
    (linked,) = set(re.findall(r'href="(runs-reports/[^"]+)"', (folder / "runs.html").read_text(encoding="utf-8")))
    assert (folder / linked).is_file()
    touched = {path.name for path in installed.home.iterdir()} - {".cache"}  # fontconfig's
    assert not touched, "the user's own settings and state"
    assert not related(str(folder)), "processes are left running"
    assert "Traceback" not in ended.stderr
    assert "Error logging" not in ended.stderr

    again = installed(tmp_path, "holo-tasks", "demo")
    assert again.code == 0, again.stderr
    assert "  click" not in again.stdout
    assert "were not worked on again" in again.stderr
    assert (folder / "report.html").read_text(encoding="utf-8") == report


@pytest.mark.desktop
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("template", FLOWS)
def test_the_test_of_a_new_project_passes(template: str, installed: Installed, tmp_path: Path) -> None:
    assert installed(tmp_path, "holo-tasks", "init", f"my-{template}", "--template", template).code == 0
    project = tmp_path / f"my-{template}"
    ended = installed(project, "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert ended.code == 0, ended.stdout + ended.stderr
    assert "1 passed" in ended.stdout
    assert not (project / "evidence").exists()


@pytest.mark.desktop
@pytest.mark.slow
def test_a_new_project_runs_at_once(installed: Installed, tmp_path: Path) -> None:
    assert installed(tmp_path, "holo-tasks", "init", "stock").stdout == f"{tmp_path / 'stock'}\n"
    ended = installed(tmp_path / "stock", "python", "flow.py")
    assert ended.code == 0, ended.stderr
    counted = [line for line in ended.stdout.splitlines() if not line.startswith("  ")]
    assert counted == ["A-100: 12 on hand", "A-200: 0 on hand", "B-310: 48 on hand"]
    assert (tmp_path / "stock" / "report.html").is_file()
    assert not related(str(tmp_path / "stock")), "processes are left running"


@pytest.mark.parametrize(
    ("without", "extras"), [(OCR, "rehearsal"), (OFFICE, "office"), ((*OCR, *OFFICE), "office,rehearsal")]
)
def test_name_the_extras_that_are_missing(without: tuple[str, ...], extras: str, tmp_path: Path) -> None:
    bare = install(tmp_path, without=without)
    ended = bare(tmp_path, "holo-tasks", "demo")
    assert ended.code == 2
    assert ended.complaint.endswith(f"not installed: run `pip install 'prefect-holo[{extras}]'`.")
    assert not (tmp_path / "holo-demo").exists()
    told = bare(tmp_path, "holo-tasks", "init", "stock").stderr  # the template `list` needs no letters
    assert ("prefect-holo[rehearsal]" in told) == ("rehearsal" in extras)
    assert "office" not in told


def test_one_command_installs_all_missing_packages(holo: InProcess, tmp_path: Path) -> None:
    ended = holo("demo", env={"PATH": str(tmp_path)})
    assert ended.code == 15
    assert "as root, run: apt-get update && apt-get install --no-install-recommends xvfb openbox" in ended.complaint
    assert not (tmp_path / "holo-demo").exists()
    assert holo("init", "stock", env={"PATH": str(tmp_path)}).code == 0
    assert (tmp_path / "stock").is_dir()


def test_a_complete_machine_misses_no_package_and_the_set_up_knows_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system_packages.missing_packages(tk=True) == []
    monkeypatch.setattr(system_packages, "FONT_FOLDERS", ())
    monkeypatch.setattr(system_packages, "LIBRARIES", dict.fromkeys(system_packages.LIBRARIES, "libmissing.so.9"))
    monkeypatch.setenv("PATH", "")
    missing = system_packages.missing_packages()
    assert missing == ["xvfb", "openbox", "fonts-dejavu-core", *system_packages.LIBRARIES]
    assert {*missing, system_packages.PACKAGE} <= set(SETUP.replace("(", " ").replace(")", " ").split())


def test_overwrite_no_folder(holo: InProcess, tmp_path: Path) -> None:
    (tmp_path / "stock").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("stock", "link"):
        refused = holo("init", name)
        assert refused.code == 2
        assert "nothing in it is overwritten" in refused.complaint
    assert not list((tmp_path / "stock").iterdir())
    (tmp_path / "stock" / "mine.txt").touch()
    refused = holo("demo", "--folder", "stock")
    assert refused.code == 2
    assert "is not the folder of a demo" in refused.complaint
    assert [path.name for path in (tmp_path / "stock").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("name", "like"),
    [("My Stock", "my-stock"), ("stock_2", "stock-2"), ("größe", "gr-sse"), ("stock-", "stock"), ("…", "my-project")],
)
def test_refuse_a_name_that_no_block_can_have(name: str, like: str, holo: InProcess, tmp_path: Path) -> None:
    refused = holo("init", name)
    assert refused.code == 2
    assert refused.complaint.endswith(f"such as {like}.")
    assert not list(tmp_path.iterdir())
    assert holo("init", like).code == 0


@pytest.mark.parametrize("words", [("init",), ("demo", "--folder")])
def test_a_name_that_is_too_long_is_refused(words: tuple[str, ...], holo: InProcess, tmp_path: Path) -> None:
    refused = holo(*words, "x" * 300)
    assert refused.code == 2
    assert "Traceback" not in refused.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_named(holo: InProcess, tmp_path: Path) -> None:
    refused = holo("init", "missing/stock")
    assert refused.code == 2
    assert "cannot be written (No such file or directory)" in refused.complaint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("template", FLOWS)
def test_a_project_is_complete_and_has_its_own_name(template: str, holo: InProcess, tmp_path: Path) -> None:
    assert holo("init", "my-work", "--template", template).code == 0
    from prefect.cli.deploy._models import DeploymentConfig  # not before: commands read Prefect's settings themselves

    project = tmp_path / "my-work"
    names = {"README.md", "blocks.py", "conftest.py", "flow.py", "playbook.yaml", "prefect.yaml", "program.py"}
    assert names | {"test_flow.py", "window.py"} <= {path.name for path in project.iterdir()}
    texts = {path: path.read_text(encoding="utf-8") for path in project.rglob("*") if path.is_file()}
    assert not [path for path, text in texts.items() if re.search(r"\b(STARTER|FLOW|ABOUT|DEPLOYMENT)\b", text)]
    assert 'NAME = "my-work"' in texts[project / "blocks.py"]
    assert len(texts[project / "README.md"].splitlines()) <= 20
    (deployment,) = yaml.safe_load(texts[project / "prefect.yaml"])["deployments"]
    assert deployment.keys() <= DeploymentConfig.model_fields.keys()
    file, _, flow = deployment["entrypoint"].partition(":")
    assert flow in {node.name for node in ast.parse(texts[project / file]).body if hasattr(node, "name")}
    assert f"{flow.replace('_', '-')}/{deployment['name']}" in texts[project / "README.md"]


def test_every_template_can_be_chosen() -> None:
    assert {path.name for path in STARTERS.iterdir()} == {EVERY, *FLOWS}


def test_the_command_alone_prints_its_help(holo: InProcess) -> None:
    ended, asked = holo(), holo("--help")
    assert (ended.code, asked.code) == (0, 0)
    assert ended.stdout == asked.stdout
    assert "holo-tasks demo" in ended.stdout
    wrong = holo("--dommand")
    assert wrong.code == 2


def test_print_the_versions_that_a_bug_report_needs(holo: InProcess, tmp_path: Path) -> None:
    from prefect import __version__ as prefect

    from holo_tasks.core.version import __version__

    ended = holo("--version")
    lines = dict(line.split(maxsplit=1) for line in ended.stdout.splitlines())
    assert ended.code == 0
    assert lines["holo-tasks"] == __version__
    assert lines["prefect"] == prefect
    assert lines["X"].startswith("server")
    shown = subprocess.run(["dpkg-query", "--show", "xvfb"], capture_output=True, text=True, check=True).stdout
    assert shown.split()[1] in ended.stdout
    bare = holo("--version", env={"PATH": str(tmp_path)}).stdout
    assert re.search(r"^X server +not installed$", bare, re.MULTILINE)
