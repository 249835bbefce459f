"""Unused library modules are not imported, and are available when they are used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

NAMES = """
import openai
from importlib.util import find_spec
client = "aiohttp" in sys.modules
import openai.types.chat, openai.types.responses, openai.types.shared
few = len(sys.modules)
packages = [openai.types, openai.types.chat, openai.types.responses, openai.types.shared]
names = {f"{package.__name__}.{name}": repr(getattr(package, name)) for package in packages for name in dir(package)}
known = {name: what for name, what in names.items()
         if not any(part in name + what for part in ("<module", "._", ".annotations"))}
told = {"known": known, "few": few, "client": client}
if find_spec("aiohttp"):
    import aiohttp
    told |= {"session": callable(aiohttp.ClientSession), "host": openai.AsyncOpenAI(api_key="k").base_url.host}
print(json.dumps(told))
"""


def found(how, script):
    load = "from holo_tasks.machine.lazy_imports import defer_large_imports as defer; defer()"
    begin = load if how == "less" else ""
    whole = f"import json, sys\n{begin}\n{script}"
    return json.loads(subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=True).stdout)


def test_httpx_has_no_command_line_but_a_main_function():
    script = "import httpx; print(json.dumps([sorted({'click', 'pygments'} & set(sys.modules)), callable(httpx.main)]))"
    assert found("less", script) == [[], True]


@pytest.fixture(scope="module")
def loaded():
    """The names of the OpenAI library with and without deferred imports."""
    return found("less", NAMES), found("all", NAMES)


def test_openai_types_are_the_same_and_imported_on_access(loaded):
    less, all_at_once = loaded
    assert len(less["known"]) > 300
    assert less["known"] == all_at_once["known"]
    assert less["few"] < all_at_once["few"] - 200


def test_openais_aiohttp_client_is_not_imported(loaded):
    pytest.importorskip("aiohttp")
    less, all_at_once = loaded
    assert (less["client"], less["session"], less["host"]) == (False, True, "api.openai.com")
    assert all_at_once["client"], "else there is nothing to leave out"
