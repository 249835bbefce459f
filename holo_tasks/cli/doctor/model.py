"""Checks of the model: endpoint, key, name, vision and dialect. They take two paid calls."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from holo_tasks.cli import settings
from holo_tasks.cli.doctor import remedies
from holo_tasks.cli.doctor.findings import Chain, Spent, without_secrets
from holo_tasks.cli.doctor.picture import WORD, on_button, picture
from holo_tasks.core.errors import HoloError, InvalidUsage, UnsureReply, UnusableReply
from holo_tasks.core.ports import Reply
from holo_tasks.core.prompts.call_to_gesture import to_pixel
from holo_tasks.core.prompts.json_object import parse_json_object
from holo_tasks.core.prompts.model import Request
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import AnswerCall, WaitCall
from holo_tasks.core.prompts.toolbox import point_schema, read_point
from holo_tasks.core.prompts.transcript import ModelStep, Observed, StepResult, Transcript
from holo_tasks.core.screen.frame import Shot
from holo_tasks.loop.ask_model.ask import fit
from holo_tasks.loop.ask_model.predict import estimate
from holo_tasks.models.address import is_hosted, key_variable
from holo_tasks.models.client import ListedModel, ModelEndpoint
from holo_tasks.models.dialects import dialect_for
from holo_tasks.models.dialects.replies import check_ended
from holo_tasks.models.profile import PROFILES_VARIABLE, Profile, profiles
from holo_tasks.models.questions import Questions, locate
from holo_tasks.models.refusals import BLIND

POINT_TOKENS = 256
STEP_TOKENS = 4096
"""Enough for a model to think about one word. The model's own limit applies if it is smaller."""
NAMED = 5
KEY_REFUSED = (401, 403)
UNKNOWN = 404
SOON_DAYS = 90
"""A model that is deprecated within this time is a warning."""
NOT_COMMERCIAL = "holo4-27b"
"""Part of the names of weights whose licence forbids commercial self-hosting."""
KEPT = {"structured": "structured output", "tools": "function calling", "holotron": "flat action"}


async def check_model(chain: Chain, base_url: str | None, model: str | None, dialect: str, timeout_s: float) -> None:
    """Run all checks of the endpoint and its model."""
    url = settings.base_url(base_url)
    keyless: InvalidUsage | None = None
    try:
        key = settings.api_key(url)
    except InvalidUsage as error:
        key, keyless = None, error
    endpoint = ModelEndpoint(url, key)
    try:
        server = _Server(endpoint, key_variable(url), key is not None, timeout_s)
        try:
            await server.check(chain)
        except HoloError as error:
            if keyless is None:
                raise
            chain.fail(error)
        if keyless or server.refused:
            chain.stop(keyless or server.refusal(server.refused))
            return
        try:
            profile = settings.profile(model)
            dialect_for(profile, dialect)  # raises before a paid call is made
        except InvalidUsage:
            chain.ok(server.admission(proven=server.listed is not None))
            raise
        await _Examined(chain, server, profile).check(dialect)
    finally:
        await endpoint.close()


class _Server:
    """The server of the model. ``listed`` has its models by name, or is ``None`` without a list.

    ``refused`` is the HTTP status with which it refused the key, if it did.
    """

    def __init__(self, endpoint: ModelEndpoint, variable: str, has_key: bool, timeout_s: float) -> None:
        self.endpoint = endpoint
        self.where = endpoint.endpoint
        self.timeout_s = timeout_s
        self.listed: dict[str, ListedModel] | None = None
        self.refused: int | None = None
        self._variable = variable
        self._has_key = has_key

    async def check(self, chain: Chain) -> None:
        """Request the list of models. Any HTTP response but a redirect proves that the endpoint can be reached."""
        started, trouble = time.perf_counter_ns(), ""
        try:
            listed = await self.endpoint.models(timeout_s=self.timeout_s)
            self.listed = None if listed is None else {model.name: model for model in listed}
        except HoloError as error:
            status = error.http_status
            if status is None or 300 <= status < 400:
                raise
            if status in KEY_REFUSED:
                self.refused = status
            else:
                trouble = str(error)
        spent = Spent(time.perf_counter_ns() - started)
        if trouble:
            chain.warn(f"{self.where} can be reached, but its list of models cannot be read: {trouble}", spent)
        elif self.refused:
            chain.ok(f"{self.where} can be reached.", spent)
        elif self.listed is None:
            chain.ok(f"{self.where} can be reached; it has no list of models.", spent)
        else:
            chain.ok(f"{self.where} can be reached and lists {_count(len(self.listed), 'model')}.", spent)

    def admission(self, *, proven: bool) -> str:
        """Return a sentence that the key is accepted. ``proven`` is false if only the absence of a refusal shows it."""
        if not self._has_key:
            return f"{self.where} wants no key, and {self._variable} is not set."
        return f"The key in {self._variable} {'is accepted' if proven else 'was not refused'}."

    def refusal(self, status: int | None) -> InvalidUsage:
        """Return the error for a key that is refused or missing."""
        if self._has_key:
            return InvalidUsage(f"{self.where} refuses the key in {self._variable} (HTTP {status}): set another one.")
        return InvalidUsage(f"{self.where} wants a key (HTTP {status}): set {self._variable}.")


@dataclass(frozen=True)
class _Examined:
    """A model under test. It gets two requests about one picture: a point to click, and a step of a run."""

    chain: Chain
    server: _Server
    profile: Profile

    async def check(self, dialect: str) -> None:
        """Run the checks from the key on. The first call decides three checks."""
        shot = picture()
        question = Questions(self.profile)
        schema = point_schema(self.profile.coordinates)
        asked = question(locate(f"the button ‘{WORD}’"), (shot,), schema, thinking=False)
        try:
            reply, spent = await self._ask(asked, POINT_TOKENS)
        except HoloError as error:
            self._report_failed_call(error)
            return
        self.chain.ok(self.server.admission(proven=True))
        self._report_name()
        self._report_vision(reply, spent, shot)
        speaks = dialect_for(self.profile, dialect)
        step = speaks.request(_full_transcript(shot, self.profile.image_budget))
        try:
            reply, spent = await self._ask(step, STEP_TOKENS)
        except HoloError as error:
            self.chain.fail(remedies.of_refusal(error, self.server.where))
            return
        self._report_step(reply, spent, dialect)

    async def _ask(self, request: Request, most: int) -> tuple[Reply, Spent]:
        request = replace(request, body={**request.body, "max_tokens": min(most, request.body["max_tokens"])})
        fit(request, self.profile.context_tokens)
        reply = await self.server.endpoint.complete(request.body, timeout_s=self.server.timeout_s)
        price = self.profile.price.price() if self.profile.price else None
        usage = reply.usage or estimate(request, reply)
        # Some servers repeat the key in their reply, and messages quote parts of a reply.
        calls = tuple(
            replace(call, name=without_secrets(call.name), arguments=without_secrets(call.arguments))
            for call in reply.tool_calls
        )
        safe = replace(reply, content=without_secrets(reply.content), tool_calls=calls)
        return safe, Spent(reply.latency_ns, price.of(usage) if price else None)

    def _report_failed_call(self, error: HoloError) -> None:
        """Report why the first call failed: the key, the model's name, or the call itself."""
        chain, server, name = self.chain, self.server, self.profile.name
        if error.http_status in KEY_REFUSED:
            chain.stop(server.refusal(error.http_status))
            return
        chain.ok(server.admission(proven=server.listed is not None))
        refused = error.http_status is not None and 400 <= error.http_status < 500 and not error.transient
        if refused and server.listed is not None and name not in server.listed:
            unknown = f"{server.where} does not know the model {name} (HTTP {error.http_status})"
            chain.stop(InvalidUsage(f"{unknown}; it lists {_some_names(server.listed)}: correct --model."))
            return
        if error.http_status == UNKNOWN:
            chain.stop(error)
            return
        self._report_name(answered=False)
        chain.stop(remedies.of_refusal(error, server.where))

    def _report_name(self, *, answered: bool = True) -> None:
        """Report the server's and the profile's facts about the model. Any doubt makes the finding a warning."""
        name, note, price = self.profile.name, self.profile.note, self.profile.price
        listed = self.server.listed
        if listed is None:
            facts = [(False, f"{name} answers" if answered else f"{name} is not known until asked")]
        elif name in listed:
            facts = [(False, f"{name} is listed")]
        else:
            facts = [(True, f"{name} {'answers, but ' * answered}is not listed; listed is {_some_names(listed)}")]
        if price is None:
            facts.append((True, "its price is not known, so a limit in USD is refused"))
        else:
            facts.append((False, f"a million of its tokens cost ${price.input} in and ${price.output} out"))
        if name not in profiles():
            own = f"{PROFILES_VARIABLE} names a file of your own"
            facts.append((True, f"it has no profile, so the defaults are used ({own})"))
        if note:
            facts.append(("deprecated" in note, note))
        facts += self._listed_facts((listed or {}).get(name, ListedModel(name)))
        tell = self.chain.warn if any(doubtful for doubtful, _ in facts) else self.chain.ok
        tell("; ".join(words for _, words in facts))

    def _listed_facts(self, model: ListedModel) -> Iterator[tuple[bool, str]]:
        """Yield the date from which the model is deprecated, and a licence that forbids the use of its weights."""
        end = model.deprecated_from
        if end is not None:
            left = (end - datetime.now(UTC).date()).days
            words = f"the server {'has deprecated' if left <= 0 else 'deprecates'} it from {end}"
            remedy = ": choose another one (`holo-tasks models`)" if left <= SOON_DAYS else ""
            yield bool(remedy), f"{words}{remedy}"
        if not is_hosted(self.server.where) and NOT_COMMERCIAL in f"{model.name} {model.weights}".casefold():
            yield True, "a commercial use of these weights on a server of your own is not licensed (CC BY-NC 4.0)"

    def _report_vision(self, reply: Reply, spent: Spent, shot: Shot) -> None:
        """Report whether the model located the button in the picture."""
        space = self.profile.coordinates
        try:
            check_ended(reply)
            point = to_pixel(*read_point(parse_json_object(reply.content), space), shot)
        except UnusableReply as error:
            self.chain.fail(remedies.of_reply(error, reply, self.profile, "structured"), spent)
            return
        if on_button(point):
            self.chain.ok(f"The model found the button that was drawn for it, at ({point.x}, {point.y}).", spent)
        else:
            found = f"({point.x}, {point.y}) is not on the button that was drawn for it"
            self.chain.warn(f"The model answers, but did not find the button: {found}; {BLIND}", spent)

    def _report_step(self, reply: Reply, spent: Spent, dialect: str) -> None:
        """Report whether the model's step can be parsed, and whether it has the word on the button."""
        name = self.profile.pick_dialect(dialect)
        kept = KEPT[name].capitalize()
        try:
            call = dialect_for(self.profile, name).parse(reply).tool_call
        except UnsureReply as error:
            self.chain.warn(f"{kept} works, but {error}.", spent)
            return
        except UnusableReply as error:
            self.chain.fail(remedies.of_reply(error, reply, self.profile, name), spent)
            return
        if name != "tools" and not reply.content.strip().startswith("{"):
            # A run accepts it, but it shows that the server does not enforce the schema.
            around = "the reply has a code fence or a thought around the JSON object"
            self.chain.warn(f"{kept} works, but {around}; {remedies.not_held(self.profile)}", spent)
        elif not isinstance(call, AnswerCall):
            self.chain.ok(f"{kept} works: the model wants to {call.tool_name}.", spent)
        elif WORD.casefold() in call.content.casefold():
            self.chain.ok(f"{kept} works: the model read {WORD!r} on the button.", spent)
        else:
            said = f"the model read {call.content[:40]!r} where it says {WORD!r}"
            self.chain.warn(f"{kept} works, but {said}; {BLIND}", spent)


def _full_transcript(shot: Shot, pictures: int) -> Transcript:
    """Return a conversation with as many pictures as the run sends at most."""
    waited = ModelStep(Step(note=None, thought="I wait.", tool_call=WaitCall(tool_name="wait", seconds=1)))
    before = tuple(
        entry for _ in range(pictures - 1) for entry in (Observed(shot), waited, StepResult("wait", "Waited."))
    )
    return Transcript("Answer with the word on the button.", (*before, Observed(shot)))


def _some_names(names: Collection[str] | None) -> str:
    """Return up to `NAMED` names of models as a text, and how many more there are."""
    some = list(names or ())[:NAMED]
    more = len(names or ()) - len(some)
    return ", ".join(some) + (f" and {more} more" if more else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
