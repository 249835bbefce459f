"""What a command never uses is not loaded, and is there for whoever asks for it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SLUGS = """
import httpx
from slugify import slugify
slugs = [slugify("Holo Desktop")]
before = sorted({"click", "pygments"} & set(sys.modules)), sys.modules["text_unidecode"].__spec__ is not None
slugs += [slugify("Größe in 東京"), slugify("Ünder"), slugify("plain")]
print(json.dumps([slugs, before, sys.modules["text_unidecode"].__spec__ is not None, callable(httpx.main)]))
"""
NAMES = """
import openai, openai.types.chat, openai.types.responses, openai.types.shared
few = len(sys.modules)
packages = [openai.types, openai.types.chat, openai.types.responses, openai.types.shared]
names = {f"{package.__name__}.{name}": repr(getattr(package, name)) for package in packages for name in dir(package)}
known = {name: what for name, what in names.items()
         if not any(part in name + what for part in ("<module", "._", ".annotations"))}
print(json.dumps([known, few, len(sys.modules)]))
"""


def found(how, script):
    begin = "from holo_tasks.machine.lean import load_less; load_less()" if how == "less" else ""
    whole = f"import json, sys\n{begin}\n{script}"
    return json.loads(subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=True).stdout)


def test_slugs_are_the_same_by_a_table_that_is_loaded_for_those_who_need_it():
    pytest.importorskip("text_unidecode")
    slugs, before, after, has_main = found("less", SLUGS)
    assert slugs == found("all", SLUGS)[0]
    assert before == [[], False]
    assert (after, has_main) == (True, True)


def test_types_of_an_endpoint_are_the_same_and_loaded_as_they_are_asked_for():
    less, all_at_once = found("less", NAMES), found("all", NAMES)
    assert len(less[0]) > 300
    assert less[0] == all_at_once[0]
    assert less[1] < all_at_once[1] - 200


def test_a_client_of_openais_that_nobody_here_uses_is_not_loaded_where_its_library_is_there():
    pytest.importorskip("aiohttp")
    script = """
import openai
before = "aiohttp" in sys.modules
import aiohttp
print(json.dumps([before, callable(aiohttp.ClientSession), openai.AsyncOpenAI(api_key="k").base_url.host]))
"""
    assert found("less", script) == [False, True, "api.openai.com"]
    assert found("all", script)[0], "else there is nothing to leave out"
