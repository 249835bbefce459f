"""Every code block of README and docs is run, parsed or checked.

* Python: the blocks of a page form one module. It is imported, so decorators check their arguments, and
  `test_types.py` checks its types strictly. Code inside functions is not called. The tutorial's code is that of a
  template, which `tests/cli/test_demo.py` runs on a real desktop.
* Shell: the command's own parser, `holo-tasks` or `prefect`, reads each command. Variables have a line on their
  page; files, extras and targets exist. `test_commands.py` runs benchmarks.
* YAML and TOML: the product's reader of such a file reads each block.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from holo_tasks.cli.init import EVERY, STARTERS
from tests.support.doc_pages import DOCS, PAGES, ROOT, Block, blocks, languages

BEFORE = {
    "concepts.md": "class accounting:\n"
    "    @staticmethod\n"
    "    async def post(transaction_id: str, amount: str) -> str:\n        return amount\n",
}
"""Code that the blocks of a page assume: a reader has it already."""
GUIDE = ROOT / "CONTRIBUTING.md"
GUIDE_WORDS = (".venv/bin/python", "grep", "git")
PAGES_WITH_PYTHON = [page for page in PAGES if blocks("python", pages=[page])]


def source(page: Path) -> str:
    """Return the Python of a page as one module."""
    return BEFORE.get(page.name, "") + "\n\n".join(block.text for block in blocks("python", pages=[page]))


def modules(folder: Path) -> list[Path]:
    """Write the Python of each page into a file."""
    paths = []
    for page in PAGES_WITH_PYTHON:
        paths.append(folder / f"page_{page.stem.replace('-', '_').lower()}.py")
        paths[-1].write_text(source(page), encoding="utf-8")
    return paths


def test_every_block_is_in_a_tested_language() -> None:
    inert = {"diff", "text"}  # an example of a change, and commands of other programs
    assert languages() - inert == {"python", "sh", "toml", "yaml"}


@pytest.mark.parametrize("page", PAGES_WITH_PYTHON, ids=lambda page: page.stem)
def test_the_python_of_a_page_can_be_imported(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"page_{page.stem.replace('-', '_').lower()}.py"
    path.write_text(source(page), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)


COMMANDS = [
    (block, line)
    for block in blocks("sh")
    for line in block.text.replace("\\\n", " ").splitlines()
    if line.strip() and not line.startswith("#")
]


@pytest.mark.parametrize(("block", "line"), COMMANDS, ids=lambda value: value.where if isinstance(value, Block) else "")
def test_the_parser_of_a_command_accepts_it(block: Block, line: str) -> None:
    words = shlex.split(line, comments=True)
    for separator in (">", "&&"):
        if separator in words:
            words = words[: words.index(separator)]
    while words and (words[0] == "export" or re.match(r"[A-Z_]+=", words[0])):
        if words[0] != "export":
            check_variable(words[0].partition("=")[0])
        words.pop(0)
    if words and block.page == GUIDE and words[0] in GUIDE_WORDS:
        check_guide(words, block)
    elif words:
        check_command(words, block)


def check_variable(name: str) -> None:
    name = "HOLO_SECRET_NAME" if name.startswith("HOLO_SECRET_") else name
    assert f"`{name}`" in (DOCS / "reference" / "environment.md").read_text(encoding="utf-8")


def check_command(words: list[str], block: Block) -> None:
    match words:
        case ["holo-tasks", *rest]:
            from holo_tasks.cli.parser import command_line

            command_line().parse_args(rest)
        case ["prefect", *rest]:
            from prefect.cli._app import _app

            _app.parse_args([word for word in rest if word != "--no-prompt"], exit_on_error=False, print_error=False)
        case ["python", "-m", "holo_tasks.rehearsal", *rest]:
            from holo_tasks.rehearsal.server import _parser

            assert _parser().parse_args(rest)
        case [".venv/bin/python", "flows/benchmarks", *rest]:
            from benchmarks.__main__ import parser

            assert parser().parse_args(rest)
        case ["make", *targets]:
            rules = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert all(re.search(rf"^{target}:", rules, re.MULTILINE) for target in targets if "=" not in target)
        case ["pip", "install", wanted, *rest] if wanted != "pytest":
            project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            name, extras = re.fullmatch(r"([\w-]+)\[([\w,]+)\]", wanted).groups()  # type: ignore[union-attr]
            assert name == project["name"]
            assert set(extras.split(",")) <= project["optional-dependencies"].keys()
            assert rest[:1] in ([], ["--find-links"])
        case ["apt-get", "install", *packages]:
            assert set(packages) <= set((ROOT / "deployments" / "setup.sh").read_text(encoding="utf-8").split()) | {
                "xvfb"
            }
        case ["env", setting, *rest]:
            assert setting == "PWD=/opt/holo"  # where the image has the flows
            check_command(rest, block)
        case ["python", "deployments/write_secrets.py" | "deployments/drain.py" as name, *_]:
            assert (ROOT / name).is_file()  # tests/flows run them
        case ["python", "deployments/pools/make.py", kind]:
            assert (ROOT / "deployments" / "pools" / f"{kind}.json").is_file()
        case ["docker", *rest]:
            check_docker(rest, block)
        case ["python", name]:
            assert (STARTERS / EVERY / name).is_file() or (STARTERS / "list" / name).is_file()
        case ["python", "-m", "pytest"] | ["pip", "install", "pytest"] | ["cd", "stock"]:
            assert (STARTERS / "list" / "test_flow.py").is_file()  # tests/cli/test_demo.py runs it
        case [".venv/bin/uv", "build", *_] | ["python3", "-m", "venv", _] | [".", _] | ["mkdir", _]:
            pass  # the tutorial's beginning: a person follows it in an empty folder before each release
        case _:
            pytest.fail(f"{block.where}: no test covers {shlex.join(words)}")


def check_guide(words: list[str], block: Block) -> None:
    """A person runs the commands on their change. The folders and the tests that they name exist."""
    match words:
        case [".venv/bin/python", "-m", "pytest", *rest]:
            assert all((ROOT / name).exists() for name in rest if name.startswith("tests"))
        case ["grep", "-rn" | "-rln", _, *folders]:
            assert all((ROOT / name).is_dir() for name in folders)
        case [".venv/bin/python", "-m", "ruff" | "mypy", *_] | ["git", "switch" | "commit", *_]:
            pass
        case _:
            pytest.fail(f"{block.where}: nobody tries {shlex.join(words)}")


def test_the_change_of_the_guide_makes_its_test_pass(tmp_path: Path) -> None:
    test, change = (blocks(language, pages=[GUIDE])[0].text for language in ("python", "diff"))
    names: dict[str, Any] = {}
    exec(compile(test, GUIDE.name, "exec"), names)
    with pytest.raises(AssertionError):
        names["test_print_a_long_time_in_days_and_hours"]()

    changed = tmp_path / "holo_tasks/audit/pages/formatting.py"
    changed.parent.mkdir(parents=True)
    shutil.copy(ROOT / changed.relative_to(tmp_path), changed)
    subprocess.run(["git", "apply"], cwd=tmp_path, input=change, text=True, check=True)
    spec = importlib.util.spec_from_file_location("formatting", changed)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names["duration"] = module.duration
    names["test_print_a_long_time_in_days_and_hours"]()


def check_docker(words: list[str], block: Block) -> None:
    """Check files, arguments and the command inside the image. The engine's own options are not known here."""
    container = (ROOT / "Containerfile").read_text(encoding="utf-8")
    if words[0] == "compose":
        assert words[1:3] == ["--env-file", "holo.env"]
        assert (ROOT / words[words.index("-f") + 1]).is_file()
    elif words[0] == "build":
        assert (ROOT / words[words.index("-f") + 1]).exists()
        given = [words[at + 1].partition("=")[0] for at, word in enumerate(words) if word == "--build-arg"]
        assert all(f"\nARG {name}" in container for name in given)
    else:
        assert words[0] == "run"
        check_command(words[words.index("prefect-holo") + 1 :], block)


@pytest.mark.parametrize("block", blocks("toml", "yaml"), ids=lambda block: block.where)
def test_a_file_block_loads_as_in_use(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / block.title
    path.write_text(block.text, encoding="utf-8")
    READERS[block.title if block.title in READERS else block.title.partition(".")[2]](path)


def rules(path: Path) -> None:
    from holo_tasks.safety.policy import Rules

    assert Rules.read(tomllib.loads(path.read_text(encoding="utf-8")))


def redaction(path: Path) -> None:
    from holo_tasks.safety.masking.settings import Redaction

    assert Redaction.read(tomllib.loads(path.read_text(encoding="utf-8")))


def profiles(path: Path) -> None:
    from holo_tasks.models.profile import profiles

    assert "my-holo" in profiles(path)


def playbook(path: Path) -> None:
    from holo_tasks.scripts.playbook import load_playbook

    assert load_playbook(path).goals


def mcp_servers(path: Path) -> None:
    """Check the command of each server. An MCP client reads this block as JSON, which is also YAML."""
    for server in yaml.safe_load(path.read_text(encoding="utf-8"))["mcpServers"].values():
        check_command([server["command"], *server["args"]], blocks("yaml")[0])


READERS: dict[str, Any] = {
    "rules.toml": rules,
    "redaction.toml": redaction,
    "profiles.toml": profiles,
    "json": mcp_servers,
    "playbook.yaml": playbook,
}


def test_the_tutorial_shows_the_code_of_its_template() -> None:
    (block,) = blocks("python", pages=[DOCS / "tutorial.md"])
    flow = (STARTERS / "list" / "flow.py").read_text(encoding="utf-8")
    assert block.text.partition("\n\n\n")[2].partition("\n\n\n")[2].strip() in flow
