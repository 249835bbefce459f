"""Profiles are data: the shipped ones match the maker's documentation, and a user's own need no code."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import DEFAULT_MODEL, PROFILES_VARIABLE, Profile, profile_for, profiles, shipped_profiles
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel
from tests.support.shots import as_model, pictures_in, walk_of, work

TABLE = {
    "holo3-1-35b-a3b": (65_536, "0.25", "1.80", "0.025", 0.8, "required", ("structured", "tools")),
    "holo3-122b-a10b": (65_536, "0.40", "3.00", "0.04", 0.8, "required", ("structured",)),
    "holo3-35b-a3b": (65_536, "0.25", "1.80", None, 0.8, "required", ("structured",)),
    "holo4-35b-a3b": (262_144, "0.30", "2.00", "0.03", 1.0, "auto", ("tools",)),
    "holo4-27b": (262_144, "0.40", "3.00", "0.04", 1.0, "auto", ("tools",)),
    "holotron-12b": (131_072, None, None, None, 0.1, "required", ("holotron",)),
}
OUTPUT = {"holo3-1-35b-a3b": 4_096, "holo3-122b-a10b": 32_768, "holo3-35b-a3b": 4_096}


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's file of profiles, named by the environment variable."""
    path = tmp_path / "profiles.toml"
    path.write_text("")
    monkeypatch.setenv(PROFILES_VARIABLE, str(path))
    return path


@pytest.mark.parametrize("name", TABLE)
def test_shipped_profiles_match_the_makers_documentation(name: str) -> None:
    context, given, taken, cached, temperature, tool_choice, dialects = TABLE[name]
    profile = shipped_profiles()[name]
    price = profile.price
    told = (None, None, None) if price is None else (price.input, price.output, price.cached)
    assert told == tuple(None if each is None else Decimal(each) for each in (given, taken, cached))
    assert (profile.context_tokens, profile.temperature, profile.tool_choice) == (context, temperature, tool_choice)
    assert profile.dialects == dialects
    assert profile.preserve_thinking == name.startswith("holo4")
    assert profile.max_output_tokens == OUTPUT.get(name, profile.max_output_tokens)
    assert profile.pick_dialect("auto") == dialects[0]


def test_the_only_other_shipped_profile_is_the_rehearsal_model() -> None:
    assert shipped_profiles().keys() == TABLE.keys() | {"rehearsal"}
    assert DEFAULT_MODEL in TABLE
    for name in ("holo3-1-35b-a3b", "holo4-27b"):
        assert (shipped_profiles()[name].image_budget, shipped_profiles()[name].coordinates) == (3, "thousandths")
    assert (shipped_profiles()["holotron-12b"].image_budget, shipped_profiles()["holotron-12b"].coordinates) == (
        1,
        "unit",
    )


def test_an_unknown_model_has_no_price_and_the_structured_dialect() -> None:
    assert profile_for("my-own") == Profile(name="my-own")
    assert profile_for("my-own").price is None
    assert profile_for("my-own").pick_dialect("auto") == "structured"


def test_an_unsupported_dialect_is_refused() -> None:
    with pytest.raises(InvalidUsage, match="holo3-35b-a3b does not speak the 'tools' dialect"):
        profile_for("holo3-35b-a3b").pick_dialect("tools")


def test_a_users_file_adds_to_the_shipped_profiles(mine: Path) -> None:
    mine.write_text(
        """
        [base]
        like = "holo4-35b-a3b"
        tool_suffix = "_desktop"
        [derived]
        like = "base"
        temperature = 0.2
        price = { input = 1, output = 2.5 }
        [holo4-27b]
        like = "holo4-27b"
        image_budget = 2
        """
    )
    assert profiles().keys() == shipped_profiles().keys() | {"base", "derived"}
    derived = profile_for("derived")
    assert (derived.name, derived.tool_suffix, derived.temperature) == ("derived", "_desktop", 0.2)
    assert (derived.tool_choice, derived.dialects) == ("auto", ("tools",))
    assert derived.price is not None
    assert (derived.price.input, derived.price.output, derived.price.cached) == (1, Decimal("2.5"), None)
    assert profile_for("holo4-27b") == shipped_profiles()["holo4-27b"].model_copy(update={"image_budget": 2})
    assert profile_for("holo3-1-35b-a3b") == shipped_profiles()["holo3-1-35b-a3b"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[m]\ntemprature = 1", "temprature"),
        ("[m]\nprice = { input = 1 }", "price.output"),
        ("[m]\nprice = { input = -1, output = 1 }", "price.input"),
        ("[m]\nprice = { input = nan, output = 1 }", "price.input"),
        ('[m]\nprice = "free"', "price"),
        ('[m]\nlike = "nobody"', "nobody"),
        ("[m]\nlike = 5", "5"),
        ('[m]\ntools = ["fly"]', "fly"),
        ('[m]\ntool_names = { fly = "soar" }', "fly"),
        ('[m]\ntool_names = { click = "write" }', "tool_names"),
        ("[m]\nimage_budget = 6", "image_budget"),
        ("[m]\nimage_budget = 0", "image_budget"),
        ("[m]\nimage_budget = 2.5", "image_budget"),
        ("[m]\ncall_timeout_s = inf", "call_timeout_s"),
        ("[m]\ncontext_tokens = 100", "context_tokens"),
        ('[m]\ndialects = ["morse"]', "dialects"),
        ("[m]\ndialects = []", "dialects"),
        ('[m]\nschema_transport = "guided_json"', "schema_transport"),
        ("m = 5", "m"),
        ("[m\n", "line 1"),
        ("[m]\na = 1\na = 2", "TOML"),
    ],
)
def test_a_mistake_in_the_file_is_named_in_one_line(mine: Path, text: str, named: str) -> None:
    mine.write_text(text)
    with pytest.raises(InvalidUsage) as caught:
        profile_for("holo3-1-35b-a3b")
    message = str(caught.value)
    assert str(mine) in message
    assert named in message
    assert "\n" not in message


def test_an_unreadable_file_is_named(mine: Path) -> None:
    mine.write_bytes(b"[m]\nnote = '\xff'")
    with pytest.raises(InvalidUsage, match=r"profiles\.toml cannot be read: it is not UTF-8"):
        profiles()
    mine.unlink()
    with pytest.raises(InvalidUsage, match=r"profiles\.toml cannot be read: No such file"):
        profiles()
    mine.mkdir()
    with pytest.raises(InvalidUsage, match=r"profiles\.toml cannot be read: Is a directory"):
        profiles()


@pytest.mark.parametrize("value", ["", "  "])
def test_the_file_is_optional(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROFILES_VARIABLE, value)
    assert profiles() == shipped_profiles()


def test_overrides_are_validated() -> None:
    made = profile_for("mine", like="holo3-1-35b-a3b", image_budget=5, name="other")
    assert (made.name, made.image_budget, made.dialects) == ("mine", 5, ("structured", "tools"))
    for overrides, named in (
        ({"imagebudget": 5}, "imagebudget"),
        ({"like": "nobody"}, "nobody"),
        ({"tools": 5}, "tools"),
    ):
        with pytest.raises(InvalidUsage, match=named):
            profile_for("mine", **overrides)


def hints(body: dict[str, Any]) -> dict[str, Any]:
    return {name: body[name] for name in body.keys() - {"messages", "structured_outputs", "response_format"}}


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"thinking": "on"}, {"chat_template_kwargs": {"enable_thinking": True}, "reasoning_effort": "medium"}),
        ({"thinking": "off"}, {"chat_template_kwargs": {"enable_thinking": False}, "reasoning_effort": "medium"}),
        ({"thinking": "default", "preserve_thinking": True, "reasoning_effort": "default"}, {}),
    ],
)
def test_default_options_are_not_sent(fields: dict[str, Any], sent: dict[str, Any]) -> None:
    assert profile_for("m", **fields).sampling() == {"temperature": 0.8, "max_tokens": 4096, **sent}


async def test_a_new_model_needs_no_code(mine: Path) -> None:
    """All differences of the new model are in the request that is sent."""
    mine.write_text(
        """
        ["acme/eyes-7b"]
        dialects = ["structured"]
        context_tokens = 32768
        max_output_tokens = 777
        tool_suffix = "_desktop"
        tool_names = { wait = "pause" }
        tools = ["click", "wait"]
        coordinates = "unit"
        image_budget = 2
        evict_batch = 1
        placeholder = "(an older screen)"
        temperature = 0.25
        thinking = "default"
        reasoning_effort = "low"
        schema_transport = "response_format"
        """
    )
    click = {
        "note": None,
        "thought": "t",
        "tool_call": {"tool_name": "click_desktop", "element": "OK", "x": 0.25, "y": 1},
    }
    done = {"note": None, "thought": "t", "tool_call": {"tool_name": "answer", "content": "done"}}
    desktop = PaintedDesktop()
    with ScriptedModel([click, click, click, done]) as model:
        endpoint = ModelEndpoint(model.base_url, None)
        made = as_model(endpoint, profile_for("acme/eyes-7b"))
        assert (await work(walk_of(made, desktop=desktop))).text == "done"
        await endpoint.close()
    assert [(gesture.at.x, gesture.at.y) for gesture in desktop.gestures] == [(80, 199)] * 3  # type: ignore[union-attr]
    body = model.requests[-1]
    assert hints(body) == {"model": "acme/eyes-7b", "temperature": 0.25, "max_tokens": 777, "reasoning_effort": "low"}
    schema = body["response_format"]["json_schema"]["schema"]
    kinds = schema["$defs"].values()
    assert [kind["properties"]["tool_name"]["const"] for kind in kinds] == ["click_desktop", "pause", "answer"]
    assert schema["$defs"]["ClickCall"]["properties"]["x"]["maximum"] == 1
    system, *_ = body["messages"]
    assert "numbers from 0 to 1" in system["content"]
    assert [len(pictures_in(request)) for request in model.requests] == [1, 2, 2, 2]
    assert str(body["messages"]).count("(an older screen)") == 2
    assert "evicted" not in str(body["messages"])
    replayed = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
    assert all('"tool_name": "click_desktop"' in content and '"x": 0.25' in content for content in replayed)
    assert '<tool_output tool="click_desktop">' in str(body["messages"])
