"""The blocks pass Prefect's standard tests, hide secrets, and come back unchanged from the server."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import entry_points
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from prefect import flow
from prefect.blocks.core import Block
from prefect.blocks.system import Secret
from prefect.testing.standard_test_suites import BlockStandardTestSuite
from prefect.types import SecretDict
from pydantic import SecretStr

from holo_blocks import AuditBucket, HoloCredentials, HoloDesktop, HoloMailbox, HoloModel, holo_agent, load_block
from holo_blocks.addresses import PREFECTS_OWN, SITE, page, picture
from holo_blocks.agent import Options
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.desktop import Settle
from holo_tasks.handoff.suspend import Suspending
from holo_tasks.run.run_options import RunOptions
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules
from tests.support.doc_pages import DOCS
from tests.support.prefect_api import PrefectAPI

BLOCKS: list[type[Block]] = [HoloModel, HoloCredentials, AuditBucket, HoloDesktop, HoloMailbox]


class TestStandard(BlockStandardTestSuite):
    @pytest.fixture(params=BLOCKS, ids=lambda block: block.__name__)
    def block(self, request: pytest.FixtureRequest) -> type[Block]:
        return request.param  # type: ignore[no-any-return]

    @pytest.fixture(autouse=True)
    def _served(self, block: type[Block], pages: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Serve the pages here: Prefect's test downloads the logo from the address in the block."""
        monkeypatch.setattr(block, "_logo_url", picture({SITE: pages}))


@pytest.mark.parametrize("block", BLOCKS)
def test_a_schema_is_computed_once_and_each_caller_gets_a_copy(
    block: type[Block], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = block.model_json_schema()
    as_it_is = json.dumps(first)
    first["properties"].clear()
    monkeypatch.delattr(Block, "model_json_schema")  # Prefect calls it 20 times, 5 ms each, to save a `HoloDesktop`
    assert json.dumps(block.model_json_schema()) == as_it_is


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    handler = partial(SimpleHTTPRequestHandler, directory=str(DOCS))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def test_a_block_links_to_the_configured_site_or_to_prefects_pages() -> None:
    served = {SITE: "https://docs.internal/holo/"}
    assert picture(served) == "https://docs.internal/holo/images/logo.png"
    assert page("holo-model", served) == "https://docs.internal/holo/reference/blocks.html#holo-model"
    assert picture({}) == Secret._logo_url
    assert page("holo-model", {}) == PREFECTS_OWN
    headings = re.findall(r"^## (.*)$", (DOCS / "reference" / "blocks.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {block.get_block_type_slug() for block in BLOCKS} == {one.lower().replace(" ", "-") for one in headings}


def test_prefect_finds_the_blocks() -> None:
    (entry,) = entry_points(group="prefect.collections", name="prefect_holo")
    module = entry.load()
    assert {block.__name__ for block in BLOCKS} <= set(dir(module))


async def test_blocks_come_back_as_they_were_saved_and_secrets_are_masked(prefect: str) -> None:
    model = HoloModel(base_url="http://127.0.0.1:9/v1", model="m", api_key=SecretStr("key-canary"))
    rules = {"programs": ["xterm"], "regions": [[0, 0, 640, 400]], "confirm": [{"text": "send"}]}
    redaction = Redaction.read({"regions": [[0, 0, 9, 9]], "windows": [{"programs": ["vault"]}], "texts": ["iban"]})
    secrets = SecretDict({"pin": "pin-canary"})
    desktop = HoloDesktop(app="xterm", secrets=secrets, rules=Rules.read(rules), redaction=redaction)
    bucket = AuditBucket(bucket="b", access_key_id=SecretStr("id-canary"), secret_access_key=SecretStr("s3-canary"))
    mailbox = HoloMailbox(host="mail.example", user="anna", password=SecretStr("mail-canary"))
    for block in (model, desktop, mailbox, bucket):
        await block.asave("round-trip", overwrite=True)
        loaded: Any = await type(block).aload("round-trip")
        assert loaded.model_dump(exclude={"block_type_slug"}) == block.model_dump(exclude={"block_type_slug"})
        assert "canary" not in repr(loaded)
    shown = json.dumps(PrefectAPI(prefect).post("/block_documents/filter", {}))
    assert "round-trip" in shown
    assert "canary" not in shown
    assert loaded.secret_access_key.get_secret_value() == "s3-canary"


async def test_model_blocks_share_a_block_with_the_key(prefect: str) -> None:
    credentials = HoloCredentials(api_key=SecretStr("shared-canary"))
    await credentials.asave("shared")
    for name in ("first", "second"):
        await HoloModel(base_url="http://127.0.0.1:9/v1", model=name, credentials=credentials).asave(name)
        loaded: Any = await HoloModel.aload(name)
        assert loaded.credentials.api_key.get_secret_value() == "shared-canary"
        assert "canary" not in repr(loaded)
        assert loaded.endpoint()._key == "shared-canary"
    assert "canary" not in json.dumps(PrefectAPI(prefect).post("/block_documents/filter", {}))
    with pytest.raises(InvalidUsage, match="leave one empty"):
        HoloModel(api_key=SecretStr("x"), credentials=credentials).endpoint()


def test_prices_in_the_block_override_the_known_ones() -> None:
    block = HoloModel(
        model="holo3-1-35b-a3b",
        usd_per_million_input_tokens=Decimal(1),
        usd_per_million_output_tokens=Decimal(2),
    )
    price = block.profile().price
    assert price is not None
    assert (price.input, price.output) == (1, 2)


@pytest.mark.parametrize(
    ("environ", "model"),
    [
        ({}, None),
        ({"HOLO_API_KEY": "k"}, None),  # a key without its endpoint
        ({"HAI_API_KEY": "k"}, ("https://api.hcompany.ai/v1/", "k")),
        ({"HAI_API_KEY": "k", "HOLO_BASE_URL": "http://127.0.0.1:8000/v1"}, ("http://127.0.0.1:8000/v1", None)),
        ({"HOLO_API_KEY": "k", "HOLO_BASE_URL": "http://127.0.0.1:8000/v1"}, ("http://127.0.0.1:8000/v1", "k")),
    ],
)
def test_the_environment_names_a_model_and_the_key_of_its_endpoint_only(
    environ: dict[str, str], model: tuple[str, str | None] | None
) -> None:
    found = HoloModel.from_environment({**environ, "HOLO_MODEL": "mine"})
    if model is None:
        assert found is None
        return
    assert found is not None
    key = found.api_key.get_secret_value() if found.api_key else None
    assert (found.base_url, key, found.model) == (*model, "mine")


def test_an_unknown_model_has_no_price() -> None:
    assert HoloModel(model="my-own").profile().price is None


def test_profile_overrides_and_prices_of_a_block_reach_the_profile() -> None:
    overrides = {"like": "holotron-12b", "image_budget": 2, "tool_suffix": "_desktop"}
    block = HoloModel(
        model="my-own",
        profile_overrides=overrides,
        schema_transport="response_format",
        usd_per_million_input_tokens=Decimal(1),
        usd_per_million_output_tokens=Decimal(2),
        usd_per_million_cached_tokens=Decimal("0.5"),
    )
    profile = block.profile()
    assert (profile.name, profile.dialects, profile.coordinates) == ("my-own", ("holotron",), "unit")
    assert (profile.image_budget, profile.tool_suffix, profile.schema_transport) == (2, "_desktop", "response_format")
    assert profile.price is not None
    assert (profile.price.input, profile.price.output, profile.price.cached) == (1, 2, Decimal("0.5"))
    assert block.profile_overrides == overrides


@pytest.mark.parametrize("overrides", [{"imagebudget": 2}, {"image_budget": 9}, {"like": "nobody"}, {"price": {}}])
def test_an_error_names_an_unknown_or_invalid_override(overrides: dict[str, Any]) -> None:
    with pytest.raises(InvalidUsage, match=f"my-own.*({next(iter(overrides))}|nobody)") as caught:
        HoloModel(model="my-own", profile_overrides=overrides).profile()
    assert "\n" not in str(caught.value)


async def test_an_advisor_of_a_block_uses_its_profile() -> None:
    async with HoloModel(
        base_url="http://127.0.0.1:9/v1", model="wise", profile_overrides={"context_tokens": 8192}
    ).advisor() as model:
        assert (model.name, model.context_tokens, model.price) == ("wise", 8192, None)
        assert model.client.endpoint == "http://127.0.0.1:9/v1/"


def test_an_api_key_with_non_ascii_characters_is_refused() -> None:
    with pytest.raises(InvalidUsage, match="API key"):
        HoloModel(base_url="http://127.0.0.1:9/v1", model="m", api_key=SecretStr("cl\u00e9")).endpoint()


def test_half_a_price_is_refused() -> None:
    with pytest.raises(InvalidUsage, match="output"):
        HoloModel(model="my-own", usd_per_million_input_tokens=Decimal(1)).profile()


def test_a_bucket_and_a_folder_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidUsage):
        AuditBucket(bucket="b", local_folder=str(tmp_path)).destination()


async def test_a_program_and_a_display_together_are_refused() -> None:
    with pytest.raises(InvalidUsage):
        await HoloDesktop(app="xterm", display=":7").start()


@pytest.mark.parametrize(
    ("kind", "screen"), [("VirtualDesktop", {"app": "xterm"}), ("AttachedDesktop", {"display": ":7"})]
)
async def test_a_desktop_gets_the_patience_of_its_block(
    monkeypatch: pytest.MonkeyPatch, kind: str, screen: dict[str, str]
) -> None:
    started: list[Settle] = []

    async def start(*, settle: Settle, **_: object) -> None:
        started.append(settle)

    monkeypatch.setattr(f"holo_blocks.desktop.{kind}.start", start)
    await HoloDesktop(**screen, patience=7.5).start()
    assert [settle.patience_s for settle in started] == [7.5]
    with pytest.raises(ValueError, match="patience"):
        HoloDesktop(**screen, patience=-1)


@pytest.mark.parametrize(
    ("screen", "why"), [({"app": "xterm"}, ""), ({"display": ":7"}, "this run did not start the display")]
)
async def test_a_desktop_block_reports_before_its_start_whether_its_run_can_be_suspended(
    prefect: str, tmp_path: Path, screen: dict[str, str], why: str
) -> None:
    @flow(name="suspendable", persist_result=False)
    async def around() -> str:
        async with holo_agent(
            "a test",
            model=HoloModel(base_url="http://127.0.0.1:9/v1", model="holo3-1-35b-a3b"),
            desktop=HoloDesktop(**screen),
            audit=AuditBucket(local_folder=str(tmp_path)),
        ) as run:
            run.deployment_id = "d-1"
            return Suspending(run, "Go on?", choices=("yes",)).hindrance()

    assert why in (said := await around())
    assert bool(said) == bool(why)


async def test_an_agent_takes_its_blocks_by_their_names(prefect: str, tmp_path: Path) -> None:
    saved: list[Any] = [
        HoloModel(base_url="http://127.0.0.1:9/v1", model="holo3-1-35b-a3b"),
        HoloDesktop(app="xterm", live_view="never"),
        AuditBucket(local_folder=str(tmp_path)),
    ]
    for block in saved:
        await block.asave("by-name", overwrite=True)

    @flow(name="named", persist_result=False)
    async def around(audit: Any = "by-name", **more: Any) -> tuple[str, str, str]:
        blocks = {"model": "by-name", "desktop": "by-name", "advisors": {"wise": "by-name"}}
        async with holo_agent("a test", audit=audit, **blocks, **more) as run:
            return run.title, run.live_view, str(next(iter(run.advisors)))

    assert await around() == ("a test", "never", "wise")
    with pytest.raises(InvalidUsage, match="The holo-audit-bucket block 'nobody' cannot be loaded"):
        await around("nobody")
    with pytest.raises(InvalidUsage, match="is not a block of the kind AuditBucket: give one, or the name"):
        await around(HoloMailbox(maildir="/srv/mail"))
    with pytest.raises(InvalidUsage, match="write named_secrets= of the desktop block"):
        holo_agent("a test", model="m", desktop="d", audit="a", secrets=["pin"])  # type: ignore[call-arg]


async def test_a_block_is_loaded_only_by_a_valid_name_that_is_allowed_here(
    prefect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "payroll"):
        await HoloMailbox(maildir="/srv/mail").asave(name, overwrite=True)
    for wrong in ("../../../flows/filter", "imaps://x@evil.example/INBOX", "mine?x=1", "", "x" * 400):
        with pytest.raises(InvalidUsage, match="is not the name of a holo-mailbox block") as caught:
            await load_block(HoloMailbox, wrong)
        assert len(str(caught.value)) < 250
    assert (await load_block(HoloMailbox, "payroll")).maildir == "/srv/mail"
    monkeypatch.setenv("HOLO_BLOCKS", "mine, other")
    assert (await load_block(HoloMailbox, "mine")).maildir == "/srv/mail"
    with pytest.raises(InvalidUsage, match="Flows here may not use the holo-mailbox block 'payroll'"):
        await load_block(HoloMailbox, "payroll")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "fill them in"),
        ({"host": "mail.example", "user": "anna"}, "password"),
        ({"host": "mail.example", "maildir": "/srv/mail"}, "leave one empty"),
        ({"host": "mail.example", "user": "anna", "password": SecretStr("x"), "security": "plain"}, "unencrypted"),
        ({"maildir": "/nowhere/at/all"}, "There is no mail folder"),
    ],
)
async def test_an_incomplete_mailbox_names_the_missing_field(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidUsage, match=words):
        await HoloMailbox(**fields).letters()


def test_a_mailbox_gives_its_password_to_its_own_server_only() -> None:
    mailbox = HoloMailbox(host="mail.example", user="a@b", password=SecretStr("x"), folder="Receipts", port=9)
    account = mailbox.account()
    assert (account.host, account.port, account.user, account.folder) == ("mail.example", 9, "a@b", "Receipts")
    assert account.security == "tls"
    local = mailbox.model_copy(update={"host": "127.0.0.1", "security": "plain"})
    assert local.account().security == "plain"


def test_each_option_of_a_run_can_be_set_by_a_flow() -> None:
    """The desktop block has the rules and the redaction, and the budget follows from the flow run."""
    wanted = {each.name for each in fields(RunOptions)} - {"rules", "redaction", "budget"}
    assert wanted <= inspect.signature(holo_agent).parameters.keys()
    assert wanted == Options.__annotations__.keys()
