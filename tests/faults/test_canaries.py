"""Plant secrets where they get into texts by accident; none may appear outside the process that owns them."""

from __future__ import annotations

import base64
import html
import io
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import boto3
import pytest
from PIL import Image
from s3_server import S3Server

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import tk_python
from holo_tasks.desktop.processes import descendants
from holo_tasks.safety.masking.fuzzy_search import folded_secret, secret_in
from holo_tasks.vision.band_reader import BandReader
from tests.support import warm
from tests.support.long import few
from tests.support.scripted_model import ScriptedModel, step

ROOT = Path(__file__).parents[2]
CANARIES = {
    "password": 'Kiebitz&7/Zoë"pw',
    "letter": "Pirol 42+Zoë=letter",
    "note": "Zeisig-ß-93-note",
    "error": "Stieglitz%61 {error}",
    "licence": "Rotkehlchen-2718-licence",
}
GIVEN = "given-the-licence"
"""Environment of the program that receives a secret on purpose: its text is in the command line."""


def written(value: str) -> Iterator[bytes]:
    """Yield every encoding of a value that the search covers."""
    data = value.encode()
    yield from {data, value.encode("utf-16-le"), data.hex().encode(), data.hex().upper().encode()}
    yield from {json.dumps(value)[1:-1].encode(), json.dumps(json.dumps(value)[1:-1])[1:-1].encode()}
    yield from {quote(value, safe="").encode(), quote(value).encode(), quote_plus(value).encode()}
    yield from {html.escape(value).encode(), repr(value)[1:-1].encode()}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for skipped in range(3):
            encoded = encode(bytes(skipped) + data)
            yield encoded[-(-8 * skipped // 6) : 8 * (skipped + len(data)) // 6]


FORMS = {name: set(written(value)) for name, value in CANARIES.items()}


def found_in(place: str, data: bytes) -> set[tuple[str, str]]:
    return {(place, name) for name, forms in FORMS.items() if any(form in data for form in forms)}


READER = BandReader()


def read_in(place: str, data: bytes) -> set[tuple[str, str]]:
    """Search the text of a picture with OCR."""
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    texts = [line.text for line in READER.lines(Frame(picture.tobytes(), Size(*picture.size), place))]
    assert any("Nothing" in text for text in texts), "OCR reads the text of a button"
    return {
        (place, name)
        for name, value in CANARIES.items()
        for text in texts
        if any(secret_in(value, folded_secret(text)))
    }


class ProcessList(threading.Thread):
    """Reads command lines and environments of all descendants of a process, for as long as it runs.

    The environment of the process itself is the source of its secrets. A fork has the same environment until it
    executes another program; it has until the next reading to do that.
    """

    def __init__(self, process: subprocess.Popen[Any]) -> None:
        super().__init__(daemon=True)
        self._process = process
        self.found: set[tuple[str, str]] = set()
        self.seen: set[str] = set()
        self._looked: set[tuple[int, bytes, bytes]] = set()
        self._forks: set[int] = set()

    def run(self) -> None:
        while self._process.poll() is None:
            for pid in (self._process.pid, *descendants(self._process.pid)):
                try:
                    own = Path(f"/proc/{self._process.pid}/cmdline").read_bytes()
                    words = Path(f"/proc/{pid}/cmdline").read_bytes()
                    around = Path(f"/proc/{pid}/environ").read_bytes()
                except OSError:
                    continue
                if (pid, words, around) in self._looked:
                    continue
                if words == own and pid != self._process.pid and pid not in self._forks:
                    self._forks.add(pid)
                    continue
                self._looked.add((pid, words, around))
                name = words.split(b"\0")[0].decode().rpartition("/")[2]
                self.seen.add(name)
                given = pid == self._process.pid or GIVEN.encode() in words
                self.found |= found_in(f"command line of {name}", words)
                self.found |= set() if given else found_in(f"environment of {name}", around)
            time.sleep(0.1)


def script(state: Path) -> Any:
    """A model that echoes secrets that it should not know."""
    note, letter = CANARIES["note"], CANARIES["letter"]

    def say(number: int, body: dict[str, Any]) -> dict[str, Any]:
        left, top = json.loads(state.read_text())["at"]["entry"][:2]
        steps = [
            step("click", element=f"the field for {note}", x=left * 1000 // 1280, y=-(-top * 1000 // 800)),
            step("write", content="{{secret:password}}", note=f"The code is {note}.", thought=_in_base64("so:" + note)),
            step("write", content=note, press_enter=True, note=note.encode().hex(), thought=quote(letter)),
            step("answer", content=f"{letter} and {note}"),
        ]
        return steps[min(number, len(steps) - 1)]

    return say


def _in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def leaks(tmp: Path, prefect_url: str, mutant: str = "") -> tuple[set[tuple[str, str]], dict[str, Any], ProcessList]:
    """Run the flow; return the leaks by place, the program's final state, and the process list."""
    state = tmp / "state"
    app = shlex.join([tk_python(), str(ROOT / "tests" / "apps" / "probe_fields.py"), str(state)])
    found: set[tuple[str, str]] = set()
    with S3Server(tmp / "s3") as s3, ScriptedModel(script(state)) as model:
        told = {
            "app": app,
            "model": model.base_url,
            "bucket": s3.bucket,
            "endpoint": s3.endpoint,
            "access_key": s3.access_key,
            "secret_key": s3.secret_key,
            "mutant": mutant,
        }
        env = {
            **os.environ,
            **{f"HOLO_SECRET_{name.upper()}": value for name, value in CANARIES.items()},
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'flows' / 'demo'}",
            "HOLO_HOME": str(tmp / "holo"),
            "PREFECT_API_URL": prefect_url,
            "PREFECT_LOGGING_TO_API_ENABLED": "1",
            "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "DEBUG",
            "PREFECT_LOGGING_LEVEL": "DEBUG",
        }
        with warm.ScriptPopen(
            [sys.executable, "-m", "tests.faults.canary_runner"],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            listed = ProcessList(process)
            listed.start()
            output, _ = process.communicate(json.dumps(told).encode() + b"\n", timeout=180)
            listed.join()
            found |= listed.found
        assert b"at the end:" in output, output.decode()[-4000:]
        for body in model.requests:
            found |= found_in("request", json.dumps(body).encode() + json.dumps(body, ensure_ascii=False).encode())
        client = boto3.client(
            "s3",
            endpoint_url=s3.endpoint,
            aws_access_key_id=s3.access_key,
            aws_secret_access_key=s3.secret_key,
            region_name="us-east-1",
        )
        names = [item["Key"] for item in client.list_objects_v2(Bucket=s3.bucket)["Contents"]]
        objects = {name: client.get_object(Bucket=s3.bucket, Key=name)["Body"].read() for name in names}
    for name, data in objects.items():
        found |= found_in("s3", name.encode() + data)
        found |= read_in(name, data) if name.endswith(".jpg") else set()
    assert any(name.endswith(".jpg") for name in objects)
    assert any(b"run_closed" in data for data in objects.values()), "the trace is there"
    found |= found_in("output", output)
    for where, folder in (("local state", tmp / "holo"), ("prefect", Path(os.environ["PREFECT_HOME"]))):
        for path in folder.rglob("*"):
            if path.is_file():
                found |= found_in(f"{where}: {path.name}", path.read_bytes())
    return found, json.loads(state.read_text()), listed


@pytest.mark.desktop
@pytest.mark.slow
def test_canaries_appear_in_no_request_trace_log_database_or_process_list(prefect_url: str, tmp_path: Path) -> None:
    found, state, listed = leaks(tmp_path, prefect_url)
    assert found == set()
    # Both were typed: the secret inserted by name, and the secret in the model's own text.
    assert state["entered"] == [CANARIES["password"] + CANARIES["note"]]
    assert {"Xvfb", "openbox", "sh"} <= listed.seen
    logged = b"".join(path.read_bytes() for path in Path(os.environ["PREFECT_HOME"]).glob("prefect.db*"))
    for name in ("letter", "error", "licence"):
        assert b"{{secret:%s}}" % name.encode() in logged, "the placeholder is in Prefect's database"


@pytest.mark.desktop
@pytest.mark.long
@pytest.mark.parametrize(
    ("mutant", "place", "name"),
    few([("no scrubber", "request", "note"), ("inherited", "environment of Xvfb", "password")]),
)
def test_the_search_finds_the_leaks_of_careless_changes(
    mutant: str, place: str, name: str, prefect_url: str, tmp_path: Path
) -> None:
    found, _, _ = leaks(tmp_path, prefect_url, mutant)
    assert (place, name) in found
