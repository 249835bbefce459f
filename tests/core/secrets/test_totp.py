"""Seeds of one-time codes are parsed, their codes computed, and both kept out of texts and pictures."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pyotp
import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.gestures import Write
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.secrets.codes import AFTER, BEFORE, Codes
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.core.secrets.secret import Secret, check_written, names_in, parts_of, values_of
from holo_tasks.core.secrets.totp import Totp
from holo_tasks.core.texts.outside_text import defused, is_placeholder
from holo_tasks.loop.gesture_limits import seconds_for, secrets_in
from holo_tasks.run.rules.redactors import text_filter
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.masking.texts import TextMasker

SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
NOW_S = 1_800_000_000.0
ADDRESS = f"otpauth://totp/Harbour:anna?secret={SEED}&issuer=Harbour&digits=8&period=60&algorithm=SHA256"


class Clock:
    def __init__(self) -> None:
        self.now_s = NOW_S

    def __call__(self) -> float:
        return self.now_s


def code(at_s: float = NOW_S) -> str:
    return pyotp.TOTP(SEED).at(at_s)


@pytest.mark.parametrize("written", [SEED, SEED.lower(), f" {SEED[:4]} {SEED[4:20]}-{SEED[20:]}\n", SEED + "===="])
def test_a_seed_is_read_in_the_usual_notations(written: str) -> None:
    seed = Totp.read(written, "otp")
    assert seed.code(seed.window(NOW_S)) == code()
    assert SEED not in repr(seed)
    assert SEED not in repr(Secret("otp", written, totp=True))


def test_an_address_sets_the_parameters_of_the_codes() -> None:
    seed = Totp.read(ADDRESS, "otp")
    right = pyotp.TOTP(SEED, digits=8, interval=60, digest=hashlib.sha256)
    assert seed.code(seed.window(NOW_S)) == right.at(NOW_S)
    assert seed.begins_s(seed.window(NOW_S) + 1) == (NOW_S // 60 + 1) * 60
    assert seed.identity != Totp.read(SEED, "otp").identity


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("hunter1-hunter1-hunter1", "not base32"),
        ("JBSWY3DP", "shorter"),
        ("ÄBSWY3DPEHPK3PXP", "not base32"),
        (f"otpauth://totp/x?secret={SEED}&period=90", "after 90 s"),
        (f"otpauth://totp/x?secret={SEED}&period=soon", "otpauth://totp/"),
        (f"otpauth://hotp/x?secret={SEED}&counter=1", "time-based codes"),
        (f"otpauth://totp/x?secret={SEED}&algorithm=MD5", "time-based codes"),
        (f"otpauth://totp/x?secret={SEED}&digits=4", "time-based codes"),
        ("otpauth://totp/x", "otpauth://totp/"),
        ("otpauth://totp/x?issuer=y", "otpauth://totp/"),
    ],
)
def test_an_invalid_seed_is_refused_without_quoting_it(value: str, why: str) -> None:
    with pytest.raises(InvalidUsage, match="'otp' is not a seed of one-time codes") as error:
        Secret("otp", value, totp=True)
    assert why in str(error.value)
    assert value not in str(error.value)
    assert SEED not in str(error.value)


def test_only_the_code_of_a_seed_is_typed() -> None:
    secrets = {"otp": Secret("otp", SEED, totp=True), "pw": Secret("pw", "hunter2")}
    assert list(parts_of("{{totp:otp}}\t", secrets)) == [secrets["otp"], "\t"]
    with pytest.raises(InvalidUsage, match=r"never typed. To type its code, write \{\{totp:otp\}\}"):
        list(parts_of("{{secret:otp}}", secrets))
    with pytest.raises(InvalidUsage, match=r"not a seed of one-time codes: write \{\{secret:pw\}\}"):
        list(parts_of("{{totp:pw}}", secrets))
    with pytest.raises(InvalidUsage, match="cut off"):
        list(parts_of("{{totp:otp", secrets))
    assert names_in("Sign on with {{secret:pw}} and {{totp:otp}}.") == {"pw", "otp"}
    with pytest.raises(InvalidUsage, match="cannot be typed together"):
        check_written("code {{totp:otp}}", None)
    with pytest.raises(Exception, match="The task does not name"):
        check_written("{{totp:otp}}", frozenset({"pw"}))


def test_data_cannot_insert_a_code() -> None:
    for text in ("{{totp:otp}}", "{ { TOTP :x", "｛｛totp:otp｝｝"):
        assert is_placeholder(text)
        assert not is_placeholder(defused(text))


def test_the_timeouts_allow_waiting_for_a_code() -> None:
    write = Write("{{totp:otp}}")
    assert secrets_in(write) == 1
    assert seconds_for(write, None) > seconds_for(Write("{{secret:pw}}"), None) + 2 * 60


def test_neighboring_and_typed_codes_are_secret() -> None:
    clock = Clock()
    secret = Secret("otp", SEED, totp=True)
    codes = Codes([secret], clock)
    scrubber = Scrubber([secret], codes)
    for window in (-BEFORE, -1, 0, AFTER):
        assert scrubber.text(f"it was {code(NOW_S + 30 * window)}.") == "it was [secret otp, a code]."
    typed = code()
    assert scrubber.text(f"({typed[:3]} {typed[3:]})") == "([secret otp, a code])"
    assert scrubber.text(f"555 {typed[:3]}-{typed[3:]}") == "555 [secret otp, a code]"
    for harmless in (f"{typed}7", f"7{typed}", f"12.{typed} s", f"{typed}.50", "000000 123"):
        assert scrubber.text(harmless) == harmless
    codes.keep()
    clock.now_s += 24 * 3600
    assert scrubber.text(typed) == "[secret otp, a code]", "the code was typed"
    assert scrubber.text(code(NOW_S - 30 * BEFORE)) == code(NOW_S - 30 * BEFORE), "the code has expired"


def test_every_spelling_of_a_seed_is_replaced() -> None:
    secret = Secret("otp", ADDRESS, totp=True)
    scrubber = Scrubber([secret], Codes([secret], Clock()))
    grouped = " ".join(SEED[at : at + 4] for at in range(0, len(SEED), 4))
    for written in (SEED, SEED.lower(), grouped, grouped.lower(), ADDRESS, f'{{"key": "{SEED}"}}'):
        told = scrubber.written(written)
        assert "[secret otp" in told
        assert SEED[:8].lower() not in told.lower().replace(" ", "")
    assert scrubber.text("[secret otp, its seed]") == "[secret otp, its seed]"


def test_redacting_a_seed_needs_a_clock() -> None:
    with pytest.raises(ValueError, match="now_s is needed"):
        Scrubber([Secret("otp", SEED, totp=True)])


@dataclass(frozen=True)
class Line:
    text: str
    box: Box
    score: float = 0.99


class Reader:
    """Reads a given text on each frame."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def lines(self, frame: Frame) -> Sequence[Line]:
        return [Line(text, Box(10, 10 + 50 * n, 300, 20)) for n, text in enumerate(self.texts)]

    def again(self, frame: Frame, box: Box) -> Sequence[str]:
        return ()


async def test_a_code_on_the_screen_is_masked_only_while_it_is_secret() -> None:
    clock, reader = Clock(), Reader()
    secrets = {"otp": Secret("otp", ADDRESS.replace("digits=8", "digits=6").replace("60", "30"), totp=True)}
    codes = Codes(secrets.values(), clock)
    masker = TextMasker(reader, kinds=(), secrets=values_of(secrets), codes=codes)
    shown = next(iter(code for code in codes.known()))
    reader.texts = [f"Code {shown} is wrong", f"{shown[:3]} {shown[3:]}", f"No. {shown}99", SEED, "total 12.50"]
    frame = Frame(rgb=bytes(3 * 400 * 300), size=Size(400, 300), display=":1")
    assert {mask.box.top // 50 for mask in await masker.masks(frame)} == {0, 1, 3}
    clock.now_s += 3600
    assert {mask.box.top // 50 for mask in await masker.masks(frame)} == {3}


def test_trees_are_redacted_again_with_each_set_of_codes() -> None:
    clock = Clock()
    secrets = {"otp": Secret("otp", SEED, totp=True)}
    tell = text_filter(Redaction(), values_of(secrets), Codes(secrets.values(), clock))
    later = code(NOW_S + 3600)
    assert tell(later) == later
    clock.now_s += 3600
    assert tell(later) == ""


def test_codes_use_the_clock_of_the_machine() -> None:
    """`open_agent` and the desktop pass the same clock to a run's codes."""
    codes = Codes([Secret("otp", SEED, totp=True)], time.time)
    assert code(time.time()) in codes.known()
