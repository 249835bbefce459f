"""The benchmark flow: classification of outcomes, figures, the oracle's protocol, resuming, and its page."""

from __future__ import annotations

import asyncio
import base64
import csv
import hashlib
import json
import re
import zipfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from prefect.exceptions import PrefectHTTPStatusError

from benchmarks import work
from benchmarks.evidence import took_by_key
from benchmarks.figures import Share, fewest_steps, quantile, regressed, row
from benchmarks.miniwob import NOT_BY_AN_ORACLE, MiniWob, in_thousandths
from benchmarks.office.calc import Calc
from benchmarks.office.editor import Editor
from benchmarks.office.files import Files
from benchmarks.office.mail import Mail, address, message_id
from benchmarks.office.suite import TASKS, Office
from benchmarks.office.trial import OfficeTrial
from benchmarks.office.writer import SPACE, Writer, letter_to, write_letter
from benchmarks.oracle import serving
from benchmarks.page import write_page
from benchmarks.results import Kept, Plan, Shelf, compared, history
from benchmarks.values import Item, Judgement, Outcome, Result, Took
from benchmarks.work import Bench, attempt, outcome_of, worked_on, working_on
from holo_blocks import AuditBucket, HoloModel, holo_agent
from holo_tasks import InvalidUsage, LimitReached, pursue
from holo_tasks.run.items.fair_map import Outcome as Told
from holo_tasks.run.run import Run
from tests.support.agents import agent
from tests.support.agents import events as trace_events
from tests.support.handmade import Dialect, Talk, made
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel

BOLD = (
    f'<office:automatic-styles xmlns:style="{SPACE}style:1.0" xmlns:fo="{SPACE}xsl-fo-compatible:1.0">'
    '<style:style style:name="P1" style:family="paragraph"><style:text-properties fo:font-weight="bold"/></style:style>'
    "</office:automatic-styles>"
)
MODEL = {"model": "rehearsal"}
PLAYBOOK = Path(__file__).parents[2] / "flows" / "expense_audit.playbook.yaml"


def result(status: str = "answered", *, right: bool = True, task: str = "t", seed: int = 0, **more: Any) -> Result:
    halts = more.pop("halts", False)
    outcome = Outcome(
        suite="s", task=task, seed=seed, scale=1.0, status=status, judged=Judgement(right=right, halt_is_right=halts)
    )
    return Result(outcome=outcome, took=Took(**{"steps": 3, "seconds": 2.0, **more}))


@pytest.mark.parametrize(
    ("status", "right", "halts", "word"),
    [
        ("answered", True, False, "success"),
        ("answered", False, False, "silent wrong"),
        ("answered", False, True, "silent wrong"),
        ("refused", True, False, "over-halt"),
        ("needs_person", False, False, "over-halt"),
        ("needs_person", False, True, "handed over"),
        ("limit", False, False, "over-halt"),
        ("model_failed", False, False, "error"),
        ("desktop_failed", False, True, "error"),
    ],
)
def test_each_ending_has_its_outcome(status: str, right: bool, halts: bool, word: str) -> None:
    assert result(status, right=right, halts=halts).outcome.word == word


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662), (0, 0, 0.0, 1.0)],
)
def test_wilson_intervals_match_published_tables(count: int, of: int, low: float, high: float) -> None:
    assert Share(count, of).interval == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_quantiles_are_measured_values() -> None:
    assert (quantile([3, 1, 2], 0.5), quantile(list(range(1, 101)), 0.95), quantile([7], 0.95), quantile([], 0.5)) == (
        2,
        95,
        7,
        0.0,
    )


def test_a_row_counts_successful_times_and_steps_against_the_minimum() -> None:
    slow = result("limit", right=False, seconds=99.0, looked_again=("its row looks different",))
    results = [result(), result(seed=1, steps=5, seconds=4.0, layer="model"), slow]
    fewest = fewest_steps(results, {("s", "t", 1): 4})
    told = row("all", results, fewest)
    assert (told.success.count, told.over_halt, told.silent_wrong, told.errors, told.looked_again) == (2, 1, 0, 0, 1)
    assert (told.p50_s, told.p95_s, told.steps, told.fewest, told.layers) == (2.0, 4.0, 8, 7, {"model": 1})
    assert told.cells["steps / fewest"] == "8 / 7"


def test_a_row_sums_the_cost_and_shows_shares_of_time_and_layers() -> None:
    first = result(seconds=8.0, micro_usd=1_250_000, perceive_s=1.0, decide_s=4.0, act_s=0.5, layer="replay")
    results = [first, result(seed=1, micro_usd=250_000, layer="model"), result(seed=2, seconds=0.0, layer="model")]
    cells = row("all", results, fewest_steps(results, {})).cells
    assert (cells["USD"], cells["perceive · decide · act"]) == ("1.5000", "10% · 40% · 5%")
    assert cells["layers"] == "replay 33%, model 67%"
    unpriced = [*results, result(seed=3, micro_usd=None)]
    assert row("all", unpriced, fewest_steps(unpriced, {})).cells["USD"] == "unknown"


def kept(name: str, *results: Result) -> Kept:
    return Kept(name, Plan(suites=("s",)), results)


def test_the_history_marks_regressions() -> None:
    good = [result(seed=seed) for seed in range(40)]
    bad = [result("refused", seed=seed) for seed in range(20)] + good[20:]
    told = history([kept("a", *good), kept("b", *bad), kept("c", *good[:39], result(right=False, seed=39))])
    assert [past.worse for past in told] == [(), ("fewer succeed", "s t"), ("more silent wrongs",)]
    assert regressed(Share(20, 40), Share(40, 40))
    assert not regressed(Share(38, 40), Share(40, 40))


def test_two_benchmarks_are_compared_item_by_item() -> None:
    first, second = kept("a", result(), result(seed=1)), kept("b", result("refused"), result(seed=2))
    assert compared(first, second) == [{"item": "s t 0", "a": "success", "b": "over-halt"}]


def test_results_are_stored_and_an_unfinished_benchmark_is_resumed(tmp_path: Path) -> None:
    shelf, plan = Shelf(tmp_path), Plan(suites=("s",))
    shelf.begin("a", plan)
    assert (shelf.unfinished(plan), shelf.unfinished(Plan(suites=("other",)))) == ("a", "")
    shelf.keep("a", [result(), result("refused", seed=1)])
    assert shelf.unfinished(plan) == ""
    assert shelf.read("a") == kept("a", result(), result("refused", seed=1))
    assert shelf.fewest() == {("s", "t", 0): 3}
    lines = list(csv.DictReader((tmp_path / "a" / "results.csv").open()))
    assert [(line["seed"], line["word"], line["seconds"]) for line in lines] == [
        ("0", "success", "2.000"),
        ("1", "over-halt", "2.000"),
    ]
    with pytest.raises(InvalidUsage, match="started with other options"):
        shelf.begin("a", Plan(suites=("other",)))
    with pytest.raises(InvalidUsage, match="no results of a benchmark 'b'"):
        shelf.read("b")
    with pytest.raises(InvalidUsage, match="not a name for a benchmark"):
        shelf.begin("../b", plan)


def test_the_page_names_the_decider_and_shows_silent_wrong_beside_over_halt(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    wrong = result(right=False, task="<b>", seed=1)
    one = kept("now", result(), wrong, result("refused", seed=2, looked_again=("its row looks different",)))
    other = kept("then", result("refused"), result(task="not in the other"))
    write_page(page, one, fewest_steps(one.results, {}), earlier=[one], other=other)
    text = page.read_text()
    both = table(text, "Compared")
    assert [line[:3] for line in both] == [
        ["now: the oracle, which is not a model", "1", "100.0% (20.7% to 100.0%)"],
        ["then: the oracle, which is not a model", "1", "0.0% (0.0% to 79.3%)"],
    ], "only the items of both benchmarks"
    assert table(text, "What came out differently") == [["s t 0", "success", "over-halt"]]
    assert "No model was measured" in text
    assert "silent wrong" in text
    assert "over-halt" in text
    assert "its row looks different" in text
    assert "&lt;b&gt;" in text
    assert "<b>" not in text
    assert "33.3% (6.1% to 79.2%)" in text
    write_page(page, Kept("by a model", Plan(suites=("s",), model="holo"), (result(),)), {("s", "t", 0): 3})
    assert "No model was measured" not in page.read_text()


def table(page: str, heading: str) -> list[list[str]]:
    """Return the lines of the table under a heading of a page."""
    section = page.partition(f"<h2>{heading}</h2>")[2].partition("</section>")[0]
    return [re.findall(r"<bdi>(.*?)</bdi>", line) for line in section.split("<tr>")[2:]]


class Trial:
    """A trial that records the oracle's requests."""

    def __init__(self, goal: str, key: str = "", right: bool = True) -> None:
        self.goal, self.right, self.key = goal, right, key
        self.asked: list[int] = []

    async def run_agent(self) -> object:
        return await pursue(self.goal)

    def next_step(self, turns: Sequence[Any]) -> Mapping[str, Any] | None:
        self.asked.append(len(turns))
        return {"tool_name": "answer", "content": "done"} if "known" in self.goal else None

    async def judged(self, said: object) -> Judgement:
        return Judgement(right=self.right and said == "done")


def test_the_oracle_answers_in_each_dialect_from_the_trial_of_the_goal() -> None:
    known, other = Trial("Task a: known"), Trial("Task b: strange")
    with serving(PLAYBOOK) as (oracle, url), oracle.plays(known.goal, known), oracle.plays(other.goal, other):
        dialects: tuple[Dialect, ...] = ("structured", "tools")
        for dialect in dialects:
            said = httpx.post(f"{url}/chat/completions", json=made(dialect, Talk(task=known.goal, more=MODEL))).json()
            message = said["choices"][0]["message"]
            call = message["tool_calls"][0]["function"] if dialect == "tools" else json.loads(message["content"])
            assert "done" in json.dumps(call)
            assert said["usage"]["prompt_tokens"] > 0
        refused = httpx.post(f"{url}/chat/completions", json=made("structured", Talk(task=other.goal, more=MODEL)))
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "no_next_step")
        broken = httpx.post(f"{url}/chat/completions", json={"messages": []})
        assert broken.status_code == 400  # the oracle checks requests against the contract, as the rehearsal model does
    assert (known.asked, other.asked) == ([0, 0], [0])


class Suite:
    """A suite whose trials count their setups."""

    name, about, scales = "s", "", (1.0,)
    every = tasks = quick = ("t",)
    made = Trial

    def __init__(self, right: bool = True) -> None:
        self.right, self.begun = right, 0

    def missing(self) -> str:
        return ""

    def program(self, item: Item) -> str:
        return ""

    def desktop(self, folder: Path, item: Item) -> Any:
        raise NotImplementedError

    @asynccontextmanager
    async def trial(self, item: Item, key: str, run: Run, folder: Path) -> AsyncIterator[Trial]:
        self.begun += 1
        yield self.made(f"Task {item.name}", key, self.right)


ANSWER = {"note": None, "thought": "it is", "tool_call": {"tool_name": "answer", "content": "done"}}


async def test_an_item_is_judged_from_outside_and_processed_once_per_benchmark(prefect: str, tmp_path: Path) -> None:
    suite, wrong = Suite(), Suite(right=False)
    item, found = Item("s", "t", 7), []
    with ScriptedModel([ANSWER]) as model:
        for name, of in (("first", suite), ("first", suite), ("second", wrong)):
            async with agent(model, PaintedDesktop(), tmp_path):
                with working_on(Bench(name, of, tmp_path, None)):
                    found.append(await worked_on(item))
        asked = len(model.requests)
    assert (suite.begun, wrong.begun, asked) == (1, 1, 2)
    assert [each.word for each in found] == ["success", "success", "silent wrong"]
    assert found[0] == found[1]
    took = took_by_key({found[0].trace})[found[0].trace, found[0].key]
    assert (took.steps, took.calls, took.layer) == (1, 1, "model")
    assert took.seconds > 0
    said = [each.latency_us for each in trace_events(found[0].trace) if each.kind == "reply"]
    assert took.decide_s == sum(said) / 1e6 > 0, "an answer step has no times"
    failed = found[2]
    took = took_by_key({failed.trace})[failed.trace, failed.key]
    page = tmp_path / "page.html"
    write_page(page, kept("now", Result(outcome=failed, took=took)), {})
    shown = re.findall(r'src="data:image/jpeg;base64,([^"]+)" alt="(before|after)"', page.read_text())
    pictures = {alt: hashlib.sha256(base64.b64decode(data)).hexdigest() for data, alt in shown}
    assert pictures == {"before": took.before, "after": took.after}


async def test_an_error_that_stops_the_run_is_an_error_of_the_item(prefect: str, tmp_path: Path) -> None:
    bench = Bench("b", Suite(), tmp_path, None)
    with ScriptedModel(["no step", "no step", "no step", "no step", "no step"]) as model:
        async with agent(model, PaintedDesktop(), tmp_path):
            with working_on(bench):
                outcome = await worked_on(Item("s", "t", 1))
        assert (outcome.word, outcome.status) == ("error", "model_failed")
    assert attempt.known.token == "{key}"  # type: ignore[attr-defined]


class Slow(Trial):
    """A trial whose flow has its own time limits."""

    scope = ""

    async def run_agent(self) -> object:
        raise LimitReached("It ran out of its 120 s.", limit="timeout_seconds", scope=self.scope)


async def test_an_items_own_time_limit_is_its_outcome_and_the_runs_is_not(
    prefect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = Suite()
    monkeypatch.setattr(Suite, "made", Slow)
    with ScriptedModel([]) as model:
        async with agent(model, PaintedDesktop(), tmp_path) as run:
            with working_on(Bench("b", suite, tmp_path, None)):
                monkeypatch.setattr(Slow, "scope", "‘sign on’")
                outcome = await worked_on(Item("s", "t", 1))
                assert (outcome.word, outcome.status, outcome.trace) == ("over-halt", "limit", run.trace)
                monkeypatch.setattr(Slow, "scope", run.guard.name)
                with pytest.raises(LimitReached):
                    await worked_on(Item("s", "t", 2))


def test_page_coordinates_become_thousandths_of_the_screen() -> None:
    act = {"tool": "click", "x": 400, "y": 160, "element": "a button"}
    assert in_thousandths(act, 800, 640) == {"tool_name": "click", "x": 500, "y": 250, "element": "a button"}
    assert in_thousandths({"tool": "none"}, 800, 640) is None
    assert in_thousandths({"tool": "write", "content": "x"}, 800, 640) == {"tool_name": "write", "content": "x"}


def test_each_task_has_an_oracle_or_a_stated_reason_why_not() -> None:
    suite = MiniWob()
    if not suite.every:
        pytest.skip("MiniWoB++ is not installed: pip install --no-deps -r deployments/miniwob.lock")
    assert NOT_BY_AN_ORACLE.keys() <= set(suite.every)
    assert len(suite.tasks) + len(NOT_BY_AN_ORACLE) == len(suite.every)


def done_by_hand(trial: OfficeTrial) -> None:
    """Write the files in the state that the task requires."""
    name, people = trial.draw
    match trial:
        case Calc():
            rows = "\n".join(f"{each},{amount}" for each, amount in trial.wanted())
            (trial.work / "amounts.csv").write_text(f"Name,Amount\n{rows}\n")
        case Writer():
            letter = trial.work / "letter.odt"
            write_letter(letter, [*letter_to(people), trial.last])
            assert trial.fault() == f"the letter's last line is [('{trial.last}', False)]", "the line must be in bold"
            with zipfile.ZipFile(letter) as whole:
                parts = {each: whole.read(each).decode() for each in whole.namelist()}
            parts["content.xml"] = parts["content.xml"].replace("<office:body>", f"{BOLD}<office:body>")
            plain = f"<text:p>{trial.last}"
            parts["content.xml"] = parts["content.xml"].replace(
                plain, plain.replace("<text:p>", '<text:p text:style-name="P1">')
            )
            with zipfile.ZipFile(letter, "w") as whole:
                for each, text in parts.items():
                    whole.writestr(each, text)
        case Editor():
            (trial.work / f"{name}.txt").write_text(trial.wanted())
        case Mail():
            others = EmailMessage()
            others["To"], others["In-Reply-To"] = address(people[0]), message_id(people[0])
            others.set_content(trial.line)
            (trial.work / "sent.eml").write_bytes(others.as_bytes())
            assert trial.fault().startswith("sent to ["), "it answers somebody else"
            others.replace_header("To", address(people[1]))
            others.replace_header("In-Reply-To", message_id(people[1]))
            (trial.work / "sent.eml").write_bytes(others.as_bytes() * 2)
            assert trial.fault().startswith("what was sent says"), "it was sent twice"
            (trial.work / "sent.eml").write_bytes(others.as_bytes())
        case Files():
            (trial.work / f"{people[1]}.txt").rename(trial.work / "Paid" / f"{people[1]}.txt")
        case _:
            (trial.work / f"{name}.txt").write_text(f"{', '.join(people)}\n")


@pytest.mark.parametrize(
    ("task", "wrong"),
    [
        ("terminal", "there is no list-"),
        ("calc", "the file holds [('Name', 'Amount'), ("),
        ("writer", "the letter's last line is [('Best regards', False)]"),
        ("editor", "list-"),
        ("files", "there are ["),
        ("mail", "nothing was sent"),
    ],
)
def test_office_tasks_are_judged_by_their_files(tmp_path: Path, task: str, wrong: str) -> None:
    suite, item = Office(), Item("office", task, 3)
    suite.desktop(tmp_path, item)
    trial = office_trial(item, tmp_path / suite.program(item) / "work")
    assert trial.fault().startswith(wrong)
    done_by_hand(trial)
    assert trial.fault() == ""
    assert trial.next_step(()) == {"tool_name": "answer", "content": "done"}


def office_trial(item: Item, work: Path) -> OfficeTrial:
    async def made() -> OfficeTrial:
        return TASKS[item.task](item, "key", cast("Run", None), work)

    return asyncio.run(made())


def test_an_error_fails_only_its_own_item(tmp_path: Path) -> None:
    bench, item = Bench("b", Suite(), tmp_path, None), Item("s", "t", 1)
    stopped = outcome_of(bench, Told(item, 1, error=RuntimeError("503 Service Unavailable")))
    assert (stopped.word, stopped.reason) == ("error", "RuntimeError: 503 Service Unavailable")
    assert (stopped.key, stopped.judged.right) == (bench.key(item), False)
    good = result().outcome
    assert outcome_of(bench, Told(item, 1, good)) is good


@pytest.mark.parametrize(("code", "times", "begun"), [(503, 2, 3), (503, 9, 3), (500, 9, 1)])
async def test_an_item_is_started_again_if_prefect_is_overloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, times: int, begun: int
) -> None:
    tries: list[str] = []
    good = result().outcome

    async def attempted(key: str, *of: object) -> Outcome:
        tries.append(key)
        if len(tries) <= times:
            asked = httpx.Request("POST", "http://127.0.0.1/api/task_runs/")
            raise PrefectHTTPStatusError("refused", request=asked, response=httpx.Response(code, request=asked))
        return good

    monkeypatch.setattr(work, "attempt", attempted)
    monkeypatch.setattr(work, "PAUSES_S", (0.0, 0.0))
    with working_on(Bench("b", Suite(), tmp_path, None)):
        if times == 2:
            assert await worked_on(Item("s", "t", 1)) is good
        else:
            with pytest.raises(PrefectHTTPStatusError):
                await worked_on(Item("s", "t", 1))
    assert len(tries) == begun


@pytest.mark.desktop
@pytest.mark.parametrize("task", ["editor", "files", "mail"])
async def test_the_oracle_completes_office_tasks_in_real_programs(prefect: str, tmp_path: Path, task: str) -> None:
    suite, item = Office(), Item("office", task, 1)
    if task not in suite.tasks:
        pytest.skip(f"needs the Debian packages {TASKS[task].packages}")
    with serving(PLAYBOOK) as (oracle, url):
        model = HoloModel(base_url=url, model="rehearsal")
        bucket = AuditBucket(local_folder=str(tmp_path / "evidence"))
        screen = suite.desktop(tmp_path, item)
        async with holo_agent("office", model=model, desktop=screen, audit=bucket, allow="act", max_steps=30):
            with working_on(Bench("b", suite, tmp_path, oracle)):
                outcome = await worked_on(item)
    assert (outcome.word, outcome.judged.why) == ("success", "")
