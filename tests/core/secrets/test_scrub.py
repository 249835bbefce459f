"""Secret values are removed in every encoding, and harmless text stays unchanged."""

from __future__ import annotations

import base64
import html
import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.core.secrets.secret import Secret

VALUES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=4, max_size=24)
AROUND = st.text(st.sampled_from("xyz .,:7\n"), max_size=12)
WRITTEN: dict[str, Callable[[str], str]] = {
    "raw": str,
    "json": lambda value: json.dumps(value)[1:-1],
    "json, not ASCII": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "json in json": lambda value: json.dumps(json.dumps(value)[1:-1])[1:-1],
    "repr": lambda value: repr(value)[1:-1],
    "url": lambda value: quote(value, safe=""),
    "url, small": lambda value: re.sub("%..", lambda part: part[0].lower(), quote(value, safe="")),
    "path": quote,
    "form": quote_plus,
    "html": html.escape,
    "hex": lambda value: value.encode().hex(),
    "HEX": lambda value: value.encode().hex().upper(),
}


def gone(value: str, text: str) -> bool:
    return not any(write(value) in text for write in WRITTEN.values() if len(write(value)) >= 4)


@settings(max_examples=60, deadline=None)
@given(VALUES, AROUND, AROUND, st.sampled_from(sorted(WRITTEN)))
def test_no_encoding_of_a_value_survives(value: str, before: str, after: str, way: str) -> None:
    scrubber = Scrubber([Secret("pin_of_9", value)])
    assume(not any(value.lower() in mark for mark in ("{{secret:pin_of_9}}", "[secret pin_of_9, encoded]", "[secret]")))
    text = scrubber.text(before + WRITTEN[way](value) + after)
    assert gone(value, text)
    assert scrubber.text(text) == text


@settings(max_examples=60, deadline=None)
@given(st.binary(min_size=0, max_size=5), st.binary(max_size=5), VALUES, st.booleans())
def test_base64_is_found_at_any_offset(before: bytes, after: bytes, value: str, url: bool) -> None:
    encode = base64.urlsafe_b64encode if url else base64.b64encode
    whole = encode(before + value.encode() + after).decode()
    text = Scrubber([Secret("p", value)]).text(whole)
    first, last = -(-8 * len(before) // 6), 8 * (len(before) + len(value.encode())) // 6
    assert whole[first:last] not in text


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_harmless_text_stays_unchanged(text: str) -> None:
    assume("hunter" not in text.lower())
    assert Scrubber([Secret("p", "hunter2-Zoë"), Secret("q", "hunter3 & co")]).text(text) == text


def test_a_short_value_is_replaced_only_as_a_separate_word() -> None:
    scrubber = Scrubber([Secret("pin", "17")])
    assert scrubber.text("the pin 17, of TX-1704 and 2017") == "the pin {{secret:pin}}, of TX-1704 and 2017"


@pytest.mark.parametrize("text", ["{{secret:portal}}", "ab" * 32])
def test_names_and_digests_stay_unchanged(text: str) -> None:
    scrubber = Scrubber([Secret("portal", "portal"), Secret("b", "baba")])
    assert scrubber.plain({"it": [text]}) == {"it": [text]}


@pytest.mark.parametrize("size", [6, 31, 32])
def test_a_long_match_inside_a_digest_is_replaced(size: int) -> None:
    value = "of thirty-two characters, a key:"[:size]
    written = value.encode().hex()
    left = "e" * (64 - len(written))
    assert Scrubber([Secret("key", value)]).text(left + written) == f"{left}[secret key, encoded]"


def test_the_longer_of_two_nested_values_wins() -> None:
    scrubber = Scrubber([Secret("one", "tulip"), Secret("two", "tulip-7")])
    assert scrubber.text("tulip-7 tulip") == "{{secret:two}} {{secret:one}}"


def test_nothing_shows_a_value() -> None:
    secret = Secret("p", "hunter2")
    assert "hunter2" not in repr([secret, Scrubber([secret])])


def test_only_known_placeholders_protect_their_text() -> None:
    scrubber = Scrubber([Secret("hunter", "hunter22")])
    assert (
        scrubber.text("{{secret:hunter22}} {{secret: hunter }}") == "{{secret:{{secret:hunter}}}} {{secret: hunter }}"
    )


@pytest.mark.parametrize("text", ["abcdefghi", "abcdefghijkl", "xabcabcdefx"])
def test_overlapping_values_are_removed_completely(text: str) -> None:
    scrubber = Scrubber([Secret("a", "abcdef"), Secret("b", "defghi"), Secret("c", "ghijkl")])
    told = scrubber.text(text)
    assert told.strip("xabc") in ("[secret]", "{{secret:a}}")
    assert not any(part in told for part in ("def", "ghi", "jkl"))


def test_a_line_break_at_the_end_is_not_part_of_a_value() -> None:
    secret = Secret("p", "hunter2\r\n")
    assert secret.value == "hunter2"
    assert Scrubber([Secret("q", " hunter3 ")]).text("(hunter3)") == "({{secret:q}})"
    with pytest.raises(InvalidUsage, match="empty"):
        Secret("p", "\n")


def test_lines_and_other_normal_forms_of_a_value_are_found() -> None:
    scrubber = Scrubber(
        [Secret("key", "BEGIN\n  MIIB7q\nab\nEND."), Secret("name", unicodedata.normalize("NFC", "Zoë"))]
    )
    assert scrubber.text("> MIIB7q\r\n> ab") == "> [secret key, a line]\r\n> ab"
    assert "BEGIN" not in scrubber.text("BEGIN\r\n  MIIB7q\r\nab\r\nEND.")
    assert scrubber.text(unicodedata.normalize("NFD", "it is Zoë")) == "it is {{secret:name}}"


def test_bytes_that_are_not_text_are_refused() -> None:
    with pytest.raises(InvalidUsage, match="'p' is not valid UTF-8"):
        Secret("p", "hunter\udcff")


def test_only_strings_change_in_json() -> None:
    scrubber = Scrubber(
        [Secret("one", "true"), Secret("two", "status"), Secret("three", "123"), Secret("four", 'a"b{c')]
    )
    value = {"status": True, "n": 123, "text": 'status: a"b{c', "nested": json.dumps({"status": "true"})}
    text = f"See {json.dumps(value)} and 123."
    told = scrubber.written(text)
    assert json.loads(told.removeprefix("See ").removesuffix(" and {{secret:three}}.")) == {
        "status": True,
        "n": 123,
        "text": "{{secret:two}}: {{secret:four}}",
        "nested": json.dumps({"status": "{{secret:one}}"}),
    }


def test_only_real_data_urls_of_pictures_are_left_alone() -> None:
    scrubber = Scrubber([Secret("p", "hunter2")])

    def shown(url: str) -> dict[str, Any]:
        return {"type": "image_url", "image_url": {"url": url}}

    good = shown("data:image/png;base64,hunter2A")
    assert scrubber.plain(good) == good
    for bad in ("data:image/png;base64,it is hunter2", "data:image/hunter2;q,AAAA"):
        assert "hunter2" not in str(scrubber.plain(shown(bad)))
    assert scrubber.plain("data:image/png;base64,hunter2A") == "data:image/png;base64,{{secret:p}}A"
