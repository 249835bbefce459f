"""Imports between packages go in one direction only (ARCHITECTURE.md has the diagram)."""

from __future__ import annotations

import ast
import functools
import gc
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BOX = re.compile(r'(\w+)\["([^"]*)"\]')
HOUSE = ROOT / "holo_tasks"
STARTERS = HOUSE / "starters"
"""The templates of `holo-tasks init`: code of users, which imports public names as the flows do."""
BELOW = ["core", "machine", "loop"]
LEAVES = ["models", "desktop", "safety", "audit", "office", "vision"]
PICTURES = ["set_of_mark", "contract", "scripts"]
MAY_IMPORT = {
    "core": [],
    "machine": ["core"],
    "loop": ["core"],
    "inventory": ["core", "machine"],
    "accessibility": ["core", "machine"],
    **dict.fromkeys(LEAVES, BELOW),
    "desktop": [*BELOW, "accessibility"],
    "live_view": [*BELOW, "desktop"],
    "set_of_mark": [*BELOW, "vision"],
    "contract": BELOW,
    "scripts": [*BELOW, "vision", "contract"],
    "rehearsal": [*BELOW, "vision", *PICTURES],
    "compiler": [*BELOW, "vision", "audit", "contract", "scripts"],
    "healing": [*BELOW, "vision", "audit", "contract", "scripts", "compiler"],
    "by_hand": [*BELOW, "vision", "compiler"],
    "telemetry": BELOW,
    "prefect_server": [*BELOW, *LEAVES, "telemetry"],
    "kill": [*BELOW, *LEAVES],
    "run": [*BELOW, *LEAVES, *PICTURES, "inventory", "telemetry", "prefect_server", "kill"],
    "handoff": [*BELOW, *LEAVES, "live_view", "kill", "run"],
    "agent": [
        *BELOW,
        *LEAVES,
        *PICTURES,
        "compiler",
        "healing",
        "telemetry",
        "prefect_server",
        "kill",
        "run",
        "handoff",
    ],
    "cli": [
        *BELOW,
        *LEAVES,
        *PICTURES,
        "compiler",
        "healing",
        "by_hand",
        "live_view",
        "prefect_server",
        "kill",
        "run",
        "handoff",
        "agent",
    ],
}
"""The packages that each package may import. Each package comes after those that it may import."""
PREFECT_EDGE = {"prefect_server", "kill", "run", "handoff", "agent", "cli"}
INTERNALS = tuple(f"prefect.{name}." for name in ("utilities", "flow_engine", "task_engine", "server", "client.base"))
INTERNALS += ("prefect._",)
"""Modules of Prefect that are not documented for others."""
NOT_IN_CORE = {"asyncio.subprocess", "socket", "httpx", "openai", "boto3", "mss", "sqlite3", "subprocess", "time", "os"}


def parsed(path: Path) -> ast.Module:
    gc.disable()  # Python 3.11.7 mistakes objects collected during parsing for a parser error
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.enable()


@functools.cache
def imports(path: Path) -> frozenset[str]:
    """Return every module that a file imports, also inside functions and for types only."""
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def files(room: str) -> list[Path]:
    return sorted((HOUSE / room).rglob("*.py"))


def library() -> list[Path]:
    """Return all modules of the library."""
    return [path for path in HOUSE.rglob("*.py") if STARTERS not in path.parents]


def graph() -> dict[str, set[str]]:
    """Return the modules of the library that each module imports, by the longest name that is a module."""
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in library()}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    arrows = {}
    for module, path in modules.items():
        names = imports(path) & modules.keys()
        # Importing a module also loads its parent packages, which import nothing themselves.
        arrows[module] = {name for name in names if not any(other.startswith(f"{name}.") for other in names)} - {module}
    arrows.pop("holo_tasks")  # its names are loaded on first use
    return arrows


def circles(arrows: Mapping[str, set[str]]) -> Iterator[list[str]]:
    """Yield each import cycle that a walk along the imports finds, once."""
    done: set[str] = set()

    def walk(module: str, way: list[str]) -> Iterator[list[str]]:
        if module in way:
            yield [*way[way.index(module) :], module]
        elif module not in done:
            for after in sorted(arrows.get(module, ())):
                yield from walk(after, [*way, module])
            done.add(module)

    for module in sorted(arrows):
        yield from walk(module, [])


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_package_imports_only_the_listed_packages(room: str) -> None:
    assert files(room)
    for path in files(room):
        for name in imports(path):
            if name.startswith("holo_tasks."):
                other = name.split(".")[1]
                known = other in MAY_IMPORT  # otherwise it is a name that the library exports
                assert not known or other in [room, *MAY_IMPORT[room]], f"{path.relative_to(ROOT)} imports {name}"
            assert not name.startswith(("holo_blocks", "flows")), f"{path.relative_to(ROOT)} imports {name}"


def test_every_package_is_listed_and_the_library_has_no_other_modules() -> None:
    rooms = {path.name for path in HOUSE.iterdir() if any(path.glob("*.py"))}
    assert rooms == set(MAY_IMPORT)
    beside = {path.name for path in HOUSE.iterdir() if path.is_file()}
    assert beside == {"__init__.py", "py.typed"}
    order = list(MAY_IMPORT)
    for room, others in MAY_IMPORT.items():
        assert all(order.index(other) < order.index(room) for other in others), room


def test_there_are_no_import_cycles() -> None:
    found = [" → ".join(circle) for circle in circles(graph())]
    assert not found, found


def test_an_import_cycle_would_be_found() -> None:
    assert list(circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}})) == [["b", "c", "b"]]


def test_the_library_imports_nothing_from_its_front_door() -> None:
    for path in library():
        guilty = {
            name for name in imports(path) if name.startswith("holo_tasks.") and name.split(".")[1] not in MAY_IMPORT
        }
        assert not guilty, f"{path.relative_to(ROOT)} imports {guilty}"


@pytest.mark.parametrize("room", sorted(MAY_IMPORT.keys() - PREFECT_EDGE))
def test_only_the_listed_packages_import_prefect(room: str) -> None:
    for path in files(room):
        guilty = [name for name in imports(path) if name.split(".")[0] == "prefect"]
        assert not guilty, f"{path.relative_to(ROOT)} imports {guilty}"


def test_one_module_and_the_temporary_server_import_internals_of_prefect() -> None:
    allowed = {HOUSE / "run" / "prefect_edge" / "internals.py", *files("prefect_server")}
    users = {
        path
        for folder in ("holo_tasks", "blocks", "flows", "deployments")
        for path in (ROOT / folder).rglob("*.py")
        if any(f"{name}.".startswith(INTERNALS) for name in imports(path))
    }
    assert HOUSE / "run" / "prefect_edge" / "internals.py" in users
    assert not users - allowed


def test_only_the_telemetry_package_imports_opentelemetry() -> None:
    for path in chain(library(), (ROOT / "blocks").rglob("*.py"), (ROOT / "flows").rglob("*.py")):
        if any(name.split(".")[0] == "opentelemetry" for name in imports(path)):
            assert path.parent == HOUSE / "telemetry", path


def test_the_core_imports_nothing_with_side_effects() -> None:
    for path in files("core"):
        guilty = imports(path) & NOT_IN_CORE
        assert not guilty, f"{path.relative_to(ROOT)} imports {guilty}"


def test_the_library_does_not_import_its_blocks() -> None:
    for path in library():
        guilty = [name for name in imports(path) if name.startswith("holo_blocks")]
        assert not guilty, f"{path.relative_to(ROOT)} imports {guilty}"


def test_the_trace_verifier_loads_no_page_and_no_template() -> None:
    arrows = graph()
    found = {module for module in arrows if module.startswith("holo_tasks.audit.verifier")}
    assert found
    while more := {name for module in found for name in arrows.get(module, ())} - found:
        found |= more
    assert not {module for module in found if module.startswith("holo_tasks.audit.pages")}
    for module in found:
        path = HOUSE.parent.joinpath(*module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        assert not imports(path) & {"jinja2", "markupsafe"}, module


def test_flows_do_not_use_the_tests() -> None:
    for path in (ROOT / "flows").rglob("*.py"):
        guilty = [name for name in imports(path) if name.split(".")[0] == "tests"]
        assert not guilty, f"{path.relative_to(ROOT)} imports {guilty}"
        assert "tests/" not in (text := path.read_text(encoding="utf-8")), path
        assert '"tests"' not in text, path
