"""llama.cpp's own server accepts the requests of every dialect; `make interop` builds it and runs this module."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from holo_tasks.core.errors import ModelFailed, UnusableReply
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import AnswerCall, ClickCall, WriteCall
from holo_tasks.core.prompts.toolbox import CALLS, point_schema, read_point
from holo_tasks.core.prompts.transcript import Correction, ModelStep, Observed, StepResult, Transcript
from holo_tasks.core.screen.frame import Frame, RedactedFrame, Shot
from holo_tasks.core.screen.geometry import Size
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.dialects import dialect_for
from holo_tasks.models.encoding import ENCODERS
from holo_tasks.models.profile import Profile, profile_for
from holo_tasks.models.questions import Questions
from tests.interop.llama_server import LlamaServer, is_built

FOLDER = Path(os.environ.get("LLAMA_SERVER", ".interop"))
PATIENCE_S = 120.0

pytestmark = pytest.mark.skipif(
    not is_built(FOLDER), reason="llama.cpp's server is not built here; `make interop` builds it in about 7 minutes"
)

WAYS = {
    "structured": profile_for("holo3-1-35b-a3b", schema_transport="response_format"),
    "required": profile_for("holo3-1-35b-a3b", dialects=("tools",)),
    "auto": profile_for("holo4-27b"),
    "flat": profile_for("holotron-12b"),
    "flat with a schema": profile_for("holotron-12b", schema_transport="response_format"),
}
SITUATIONS = ("first", "long", "corrected", "last")


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with LlamaServer(FOLDER) as server:
        yield server.base_url


@pytest.fixture
async def endpoint(base_url: str) -> AsyncIterator[ModelEndpoint]:
    endpoint = ModelEndpoint(base_url, None)
    yield endpoint
    await endpoint.close()


def shot(number: int) -> Shot:
    image = Image.new("RGB", (640, 400), "white")
    ImageDraw.Draw(image).text((40, 40), f"screen {number}", fill="black")
    return ENCODERS["default"].encode(RedactedFrame(Frame(image.tobytes(), Size(640, 400), ":1")))


def transcript(steps: int) -> Transcript:
    """Return a conversation of some steps, long enough for old pictures to be evicted."""
    found = Transcript("Write your name into the field and save.").extended(Observed(shot(0)))
    for number in range(1, steps + 1):
        call = (
            ClickCall(tool_name="click", element="Save", x=500, y=250)
            if number % 2
            else WriteCall(tool_name="write", content="Ærøskøbing")
        )
        step = Step(
            note=f"seen {number}", thought="Going on.", tool_call=call, call_id=f"call_{number}", reasoning="So."
        )
        found = found.extended(
            ModelStep(step), StepResult(call.tool_name, "Done.", is_error=number == 3), Observed(shot(number))
        )
    return found


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("way", WAYS)
async def test_every_request_is_accepted(endpoint: ModelEndpoint, way: str, situation: str) -> None:
    profile: Profile = WAYS[way].model_copy(update={"max_output_tokens": 300})
    dialect = dialect_for(profile)
    correction = Correction("click", "x=1001 is off the picture.") if situation == "corrected" else None
    request = dialect.request(
        transcript(0 if situation == "first" else 9), correction=correction, answer_only=situation == "last"
    )
    reply = await endpoint.complete(request.body, timeout_s=PATIENCE_S)
    assert reply.usage is not None
    assert reply.usage.prompt_tokens > 200
    if way == "structured" and reply.finish_reason == "stop":
        # The reply is babble, but its grammar follows our schema.
        problem = ""
        try:
            step = dialect.parse(reply, answer_only=situation == "last")
            assert situation != "last" or isinstance(step.tool_call, AnswerCall)
        except UnusableReply as error:
            problem = str(error)
        # The grammar does not enforce bounds of fractional numbers.
        assert not problem or "seconds" in problem
    if way == "required" and reply.finish_reason != "length":
        assert reply.tool_calls[0].name in CALLS


async def test_a_point_is_returned_for_a_question(endpoint: ModelEndpoint) -> None:
    profile = profile_for("holo3-1-35b-a3b", schema_transport="response_format")
    request = Questions(profile)("Where is the Save button?", [shot(1)], point_schema("thousandths"), thinking=False)
    reply = await endpoint.complete(request.body, timeout_s=PATIENCE_S)
    value = json.loads(reply.content)
    assert read_point(value, "thousandths") == (value["x"], value["y"])


async def test_the_server_decodes_every_picture(endpoint: ModelEndpoint) -> None:
    profile = profile_for("holo3-1-35b-a3b", schema_transport="response_format")
    ask = Questions(profile)
    counts = []
    for shots in ([], [shot(1)], [shot(1), shot(2)]):
        request = ask("Where is it?", shots, point_schema("thousandths"), thinking=False)
        reply = await endpoint.complete(request.body, timeout_s=PATIENCE_S)
        assert reply.usage is not None
        counts.append(reply.usage.prompt_tokens)
    assert counts[1] - counts[0] > 100
    assert counts[2] - counts[1] > 100
    broken = Shot(b"no picture", "image/jpeg", "0" * 64, Size(1, 1), Size(1, 1), "0" * 64)
    with pytest.raises(ModelFailed, match="400"):
        await endpoint.complete(ask("?", [broken], point_schema("unit"), thinking=False).body, timeout_s=PATIENCE_S)
