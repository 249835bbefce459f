"""Test the report: one self-contained page that shows the actions on their screens and runs no code of a trace."""

from __future__ import annotations

import asyncio
import functools
import html
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from PIL import Image, ImageChops

from holo_tasks.audit import DamagedTrace, open_trace
from holo_tasks.audit.pages import report
from holo_tasks.audit.pages.formatting import MAX_VALUES, named_values
from holo_tasks.audit.pages.gesture_marks import Arrow, Ring, caption, marks
from holo_tasks.audit.pages.report import Effort, write_report
from holo_tasks.audit.pages.report_head import outcome_text, summary
from holo_tasks.audit.pages.run_view import Call, Step, Subgoal, build_story
from holo_tasks.audit.pages.thumbnails import smaller, thumbnail
from holo_tasks.audit.pages.timeline import escaped, subgoal_markdown
from holo_tasks.core import events as e
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import ActionIntended
from tests.support.browser import Tab
from tests.support.pages import HOSTILE, tags

PROBE = """<script>
const found = [...document.querySelectorAll("article.step button.zoom svg")].map((svg) => {
  const box = (node) => { const r = node.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; };
  return {
    step: svg.closest("article").id, shot: box(svg), picture: box(svg.querySelector("use")),
    ring: [...svg.querySelectorAll("circle.dot")].map(box), changed: [...svg.querySelectorAll("rect.changed")].map(box),
    arrows: svg.querySelectorAll("line.mark").length,
  };
});
const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
press("j"); press("j"); press("k"); press("j");
const search = document.getElementById("search");
const current = document.querySelector(".step.current").id;
search.value = "column edge"; search.dispatchEvent(new Event("input"));
const probe = {found, current, title: document.title, shown: document.getElementById("shown").textContent,
  goals: [...document.querySelectorAll("section.goal:not([hidden])")].map((goal) => goal.id),
  broken: [...document.querySelectorAll("use")].map((use) => use.getAttribute("href"))
    .filter((name) => !document.querySelector(name)).length};
const out = document.createElement("pre"); out.id = "probe"; out.textContent = JSON.stringify(probe);
document.body.append(out);
</script>"""


@pytest.fixture(scope="session")
def synthetic(loader: Any) -> ModuleType:
    return loader(Path(__file__).with_name("synthetic.py"))


@pytest.fixture(scope="module", autouse=True)
def each_picture_made_smaller_once() -> Iterator[None]:
    """Cache scaled pictures: all these runs show the same ones, and scaling takes most of a report's time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "smaller", functools.cache(smaller))
        yield


class Told(NamedTuple):
    """A run of 15 steps and its report, in a folder of their own."""

    root: Path
    folder: Path
    page: str


@pytest.fixture(scope="module")
def told(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Told:
    root = tmp_path_factory.mktemp("told")
    folder = synthetic.tell_run(root)
    return Told(root, folder, write_report(folder, root / "report.html").read_text())


class Shown(NamedTuple):
    """A browser's view of a page full of hostile text: its contents, its screenshot, and the result of a probe."""

    dom: str
    picture: bytes
    probe: dict[str, Any]


@pytest.fixture(scope="module")
def shown(hostile: Path, searched: Told, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", searched.page)
    probed = searched.root / "probed.html"
    probed.write_text(page.replace("</body>", PROBE + "</body>"))

    async def look() -> Shown:
        async with Tab.opened(tmp_path_factory.mktemp("browser") / "profile") as tab:

            async def show(page: Path, height: int) -> None:
                size = {"width": 1280, "height": height, "deviceScaleFactor": 1, "mobile": False}
                await tab.ask("Emulation.setDeviceMetricsOverride", **size)
                await tab.go(page.as_uri())
                await tab.becomes("document.readyState + location.pathname", f"complete{page}")

            await show(hostile, 3000)
            dom, picture = await tab.value("document.documentElement.outerHTML"), b""
            while picture != (picture := await tab.picture()):
                pass
            await show(probed, 900)
            return Shown(dom, picture, json.loads(await tab.value("document.getElementById('probe').textContent")))

    return asyncio.run(look())


def is_near(pixel: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return all(abs(a - b) < 12 for a, b in zip(pixel, wanted, strict=True))


def test_the_page_is_self_contained_and_embeds_each_picture_once(told):
    root, folder, page = told
    for tag, attributes in tags(page):
        for name in ("src", "href", "xlink:href", "action"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:image/jpeg;base64,")), (tag, value)
    assert "url(http" not in page
    assert "@import" not in page
    pictures = [a["id"] for tag, a in tags(page) if tag == "image"]
    shown = {a["href"] for tag, a in tags(page) if tag == "use"}
    assert {f"#{name}" for name in pictures} == shown
    assert len(pictures) == len(set(re.findall(r'base64,([^"]+)"', page)))
    for record in open_trace(folder).records():
        if record.event.kind == "decision":
            assert html.escape(record.event.thought) in page
        if record.event.kind == "frame":
            assert record.event.sha256 in page
    assert not [attributes for _, attributes in tags(page) if "style" in attributes]
    for tag, attributes in tags(page):
        if tag == "svg" and attributes.get("class") == "shot" and "aria-hidden" not in attributes:
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
    assert list(root.glob(".*")) == []


def test_masks_are_listed_by_kind_and_not_drawn(told):
    page = told.page
    assert page.count("Masked before sending: <bdi>2 × e-mail, 1 × card</bdi>") == 1
    assert 'x="40" y="300" width="90"' not in page


def test_items_of_two_runs_have_their_layer_and_cost(synthetic, tmp_path):
    def look_up(telling, number: int, layer: str, cost: int) -> None:
        about = {"subgoal": number, "title": f"Look up R-{number}", "goal": "look it up", "token": f"R-{number}"}
        telling.say(e.SubgoalOpened(**about))
        closed = {"status": "answered", "answer": "", "steps": 4, "cost_micro_usd": cost, "layer": layer}
        telling.say(e.SubgoalClosed(subgoal=number, **closed))

    by_model, by_playbook = (synthetic.Telling(tmp_path, name) for name in ("by-model", "by-playbook"))
    look_up(by_model, 1, "model", 31_000)
    before = {"token": "R-1", "goal": "look up", "title": "Look up R-1", "trace": "runs/by-model", "sha256": "0" * 64}
    older = before | {"token": "R-0", "title": "Look up R-0"}
    by_playbook.say(e.Skipped(items=[e.DoneBefore(**one) for one in (before, older)]))
    look_up(by_playbook, 2, "playbook", 0)

    def rows(folder: Path, **how: Any) -> list[str]:
        page = write_report(folder, tmp_path / "report.html", **how).read_text()
        found = re.findall("<tr>.*?</tr>", page, re.DOTALL)
        cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in found]
        return ["|".join(html.unescape(re.sub("<[^>]+>|\n", "", cell)) for cell in row) for row in cells]

    _, first = rows(by_model.trace.folder)
    assert first.startswith("1|Look up R-1|Answered (by model)|4|$0.0310|")
    head, second, names, done, unknown = rows(by_playbook.trace.folder, done_before={"R-1": Effort("model", 31_000)})
    assert head.startswith("#|Sub-goal|Status|Steps|Cost|")
    assert second.startswith("2|Look up R-2|Answered (by playbook)|4|$0.00|")
    assert (names, done) == ("Item|Sub-goal|By|Cost|Evidence", "R-1|Look up R-1|model|$0.0310|runs/by-model")
    assert unknown == "R-0|Look up R-0|–|–|runs/by-model"
    assert rows(by_playbook.trace.folder)[2] == "Item|Sub-goal|Evidence", (
        "a trace alone does not have the costs of earlier runs"
    )


def test_the_element_that_an_action_hit_is_named(told):
    _, folder, page = told
    hit = [record.event.element for record in open_trace(folder).records() if record.event.kind == "action"]
    named = [each["name"] for each in hit if each]
    assert named
    assert page.count("<b>Hit</b>button ‘") == len(named)
    assert all(f"‘{html.escape(name)}’ in ledger" in page for name in named)


def test_the_text_of_a_field_is_shown_where_it_is_another_one_than_the_typed_text(told):
    _, folder, page = told
    read = [record.event for record in open_trace(folder).records() if record.event.kind == "field_read"]
    assert {event.outcome for event in read} == {"completed", "exact"}
    assert page.count("<b>Field holds</b>‘T-2041 / open’ (completed)") == 1
    assert page.count("<b>Field holds</b>") == 1


def test_a_program_that_was_still_waiting_is_shown_with_the_cause(told):
    page = told.page
    assert page.count("<b>Still waiting</b>The program was waiting for its server (10.0.0.5:443)") == 1
    assert page.count('<i class="wait">Wait 15.0 s</i>') == 1  # of the step
    assert page.count('<i class="wait"></i>Wait 15.0 s</span>') == 1  # of the run


def test_an_unknown_cost_is_not_shown_as_zero():
    unknown = Call(1, latency_us=5, prompt_tokens=10, completion_tokens=1)
    step = Step(1, 1, "", "", calls=[Call(1, cost_micro_usd=7), unknown])
    assert step.cost_micro_usd is None
    assert Subgoal(1, "", "", steps=[step]).cost_micro_usd is None
    assert Step(1, 1, "", "", calls=[Call(1, cost_micro_usd=7), Call(2, failure="503")]).cost_micro_usd == 7


def test_each_chart_has_its_numbers_as_a_table(told):
    page = told.page
    for key, title in (("time", "Time of each step"), ("cost", "Cost of each step")):
        chart = page.split(f'<title id="{key}-t">{title}</title>')[1].split("</figure>")[0]
        assert f'<desc id="{key}-d">15 steps' in chart
        assert chart.split("<details>")[0].count('tabindex="-1"') == 15
        assert chart.split("<details>")[1].count('<th scope="row">') == 15


def test_bidirectional_controls_are_made_visible(synthetic, tmp_path):
    page = write_report(synthetic.tell_run(tmp_path, hostile="\u202egpj.exe\u2066"), tmp_path / "r.html").read_text()
    assert not set(page) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069")
    assert "\ufffdgpj.exe\ufffd" in page


@pytest.fixture(scope="module")
def hostile(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page full of hostile text."""
    folder = tmp_path_factory.mktemp("hostile")
    return write_report(synthetic.tell_run(folder, "hostile", goals=1, hostile=HOSTILE), folder / "h.html")


@pytest.fixture(scope="module")
def searched(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A run of two sub-goals with a step for each kind of gesture."""
    root = tmp_path_factory.mktemp("searched")
    folder = synthetic.tell_run(root, goals=2, steps=9)
    return Told(root, folder, write_report(folder, root / "report.html").read_text())


def test_hostile_text_is_escaped(synthetic, hostile, shown, tmp_path):
    page, dom = hostile.read_text(), shown.dom
    plain = write_report(synthetic.tell_run(tmp_path, "plain", goals=1), tmp_path / "plain.html").read_text()
    assert [tag for tag, _ in tags(page)] == [tag for tag, _ in tags(plain)]
    assert {name for _, a in tags(page) for name in a} == {name for _, a in tags(plain) for name in a}
    assert page.count("<script") == plain.count("<script") == 1
    assert "\x00" not in page
    assert "\x1b" not in page
    assert "</title>" in dom
    assert "owned</title>" not in dom


def test_marks_are_where_the_gestures_were_and_the_page_can_be_searched(searched, shown):
    probe, wanted = shown.probe, {}
    for record in open_trace(searched.folder).records():
        if record.event.kind == "action" and record.event.gesture.get("at"):
            wanted[f"s{record.event.subgoal}-{record.event.step}"] = record.event.gesture["at"]
    rings = [found for found in probe["found"] if found["ring"] and found["step"] in wanted]
    assert len(rings) == len(wanted) == 10
    for found in rings:
        assert found["picture"] == pytest.approx(found["shot"], abs=2.5)
        x, y, w, h = found["ring"][0]
        at = wanted[found["step"]]
        inner_width, inner_height = found["picture"][2], found["picture"][3]
        assert x + w / 2 == pytest.approx(found["picture"][0] + (at["x"] + 0.5) * inner_width / 1280, abs=0.6)
        assert y + h / 2 == pytest.approx(found["picture"][1] + (at["y"] + 0.5) * inner_height / 800, abs=0.6)
    changed = next(found for found in probe["found"] if found["changed"])
    picture, box = changed["picture"], changed["changed"][0]
    assert box[0] == pytest.approx(picture[0] + 300 * picture[2] / 1280, abs=2)
    assert box[2] == pytest.approx(680 * picture[2] / 1280, abs=4)
    assert sum(found["arrows"] for found in probe["found"]) == 4
    assert probe["current"] == "s1-2"
    assert probe["shown"] == "2 of 18 steps"
    assert probe["goals"] == ["g1", "g2"]
    assert probe["broken"] == 0


def test_the_page_is_rendered(shown):
    with Image.open(io.BytesIO(shown.picture)) as image:
        colours = image.convert("RGB").getcolors(1 << 24)
    assert colours
    blue = sum(pixels for pixels, colour in colours if is_near(colour, (10, 36, 106)))
    assert len(colours) > 300
    assert blue > 1000  # the title bars in the pictures: the page's own policy allows images


def test_an_interrupted_run_is_shown_with_a_banner(synthetic, tmp_path):
    folder = synthetic.tell_run(tmp_path, close=False, goals=2)
    with (folder / "events.jsonl").open("ab") as events:
        events.write(b'{"torn')
    page = write_report(folder, tmp_path / "report.html").read_text()
    assert "This trace is incomplete" in page
    assert page.count('<article class="step"') == 10
    assert "Hash chain intact, end of run missing" in page


def test_a_changed_record_is_named(synthetic, tmp_path):
    folder = synthetic.tell_run(tmp_path)
    events = folder / "events.jsonl"
    events.write_bytes(events.read_bytes().replace(b"empty. I need", b"empty. I NEED", 1))
    bad = open_trace(folder).check().first_bad
    page = write_report(folder, tmp_path / "report.html").read_text()
    assert f"Record {bad} was changed after it was written" in page
    assert "<script>" in page


def test_an_invalid_line_is_named_and_earlier_records_are_shown(synthetic, tmp_path):
    events = synthetic.tell_run(tmp_path) / "events.jsonl"
    lines = events.read_bytes().split(b"\n")
    events.write_bytes(b"\n".join([*lines[:20], b"garbage", *lines[21:]]))
    page = write_report(events.parent, tmp_path / "report.html").read_text()
    assert "Record 20 is not a record" in page
    assert page.count('<article class="step"') == 2


def test_a_missing_picture_leaves_a_gap(synthetic, tmp_path):
    folder = synthetic.tell_run(tmp_path)
    first, second, *_ = sorted((folder / "frames").iterdir())
    first.unlink()
    second.write_bytes(b"not what it was")
    page = write_report(folder, tmp_path / "report.html").read_text()
    assert "This picture is not in the trace" in page


def test_a_report_stays_below_seventy_kilobytes_a_step(told):
    assert len(told.page.encode()) < 15 * 70_000


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def test_an_answer_in_json_is_a_table_of_its_names_and_values(told):
    tables = re.findall(r'<table class="values">.*?</table>', told.page)
    rows = [re.findall(r"<th[^>]*>(.*?)</th><td>(.*?)</td>", table) for table in tables]
    assert [[(text_of(name), text_of(value)) for name, value in row] for row in rows] == (
        [[("status", "cleared"), ("amount_cents", "4820")]] * 2
    )
    assert "{&#34;" not in told.page
    assert told.page.count("status: cleared; amount_cents: 4820") == 2  # in the table of sub-goals


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        (
            '{"total": 1.10, "paid": true, "note": null, "by": ""}',
            [("total", "1.10"), ("paid", "yes"), ("note", "none"), ("by", "(empty)")],
        ),
        ('{"a": 1, "a": 2}', [("a", "1"), ("a", "2")]),
        (
            '{"lines": [{"sku": "A-1", "n": 2}, {"sku": "B", "n": 1}], "tags": ["x", "y"]}',
            [
                ("lines 1 · sku", "A-1"),
                ("lines 1 · n", "2"),
                ("lines 2 · sku", "B"),
                ("lines 2 · n", "1"),
                ("tags", "x\ny"),
            ],
        ),
        ('[["a", 1], ["b", 2]]', [("1", "a\n1"), ("2", "b\n2")]),
        ("[]", [("", "none")]),
        ("Twelve receipts {see below}", []),
        ('{"a": 1} and more', []),
        ("7", []),
        ("[" * 100_000, []),
        ('{"a":' * 900 + "1" + "}" * 900, [(" · ".join("a" * 900), "1")]),
    ],
)
def test_names_and_values_of_an_answer(answer, rows):
    assert named_values(answer) == rows


def test_a_table_of_values_has_an_end():
    rows = named_values(json.dumps({str(number): number for number in range(5000)}))
    assert (len(rows), rows[-1]) == (MAX_VALUES + 1, ("…", "More values are in the trace."))


def test_the_summary_is_in_sentences_with_links_to_steps(told):
    (summary,) = re.findall(r'<p class="summary">.*?</p>', told.page)
    assert text_of(summary).split(". ")[:2] == [
        "2 of 3 sub-goals were answered, in 15 steps and 18.3 s",
        "Sub-goal 3 ended with ‘limit reached’",
    ]
    assert "17 model calls, 1 of which failed; together they cost $0.0080." in text_of(summary)
    assert "3 steps did not go as planned (1 × field holds, 1 × model call failed, 1 × refused)," in text_of(summary)
    assert "3 steps changed nothing on the screen, first " in text_of(summary)
    assert "The slowest step is 1.3 (click ‘Search’): 16.2 s, 15.0 s of it to wait." in text_of(summary)
    links = re.findall('href="#([^"]+)"', summary)
    assert "s1-3" in links
    assert all(f'id="{link}"' in told.page for link in links)


def test_a_run_without_trouble_and_without_a_model_is_summed_up():
    opened, closed = (
        e.SubgoalOpened(subgoal=1, title="Look.", goal="Look."),
        e.SubgoalClosed(subgoal=1, status="answered", answer="yes", reason="", steps=1, cost_micro_usd=0),
    )
    step = e.Decided(subgoal=1, step=1, note=None, thought="", tool_name="answer", arguments={}, label="answer")
    story = build_story(
        e.Record(seq=0, at="", run="r", previous=e.FIRST, event=event, signature="") for event in (opened, step, closed)
    )
    assert ["".join(text for text, _ in sentence) for sentence in summary(story)] == [
        "Its sub-goal was answered, in 1 step and 0 ms.",
        "No model was called.",
        "No step failed or was without effect.",
    ]


@pytest.mark.parametrize(
    ("reason", "shown"),
    [("The screen shows no Find.", "The screen shows no Find."), ("Find" * 200, "Find" * 99 + "Fin…")],
)
def test_the_summary_says_why_a_playbook_asked_the_model(reason, shown):
    asked = e.LayerChanged(subgoal=1, step=2, source="playbook", target="model", reason=reason)
    back = e.LayerChanged(subgoal=1, step=3, source="model", target="playbook", reason="It fits again.")
    events = [e.SubgoalOpened(subgoal=1, title="x", goal="x"), asked, back]
    records = [e.Record(seq=0, at="", run="r", previous=e.FIRST, event=event, signature="") for event in events]
    said = ["".join(text for text, _ in sentence) for sentence in summary(build_story(records))]
    told = [one for one in said if "asked" in one or "Find" in one]
    assert told == ["A playbook asked the model once.", f"In sub-goal 1: {shown}"]
    assert not any("asked the model" in str(sentence) for sentence in summary(build_story(records[:1])))


def test_pictures_in_a_folder_are_private_files_and_old_ones_are_removed(synthetic, tmp_path):
    out, folder = tmp_path / "my report.html", tmp_path / "my report-pictures"
    run = synthetic.tell_run(tmp_path / "runs")
    page = write_report(run, out, pictures="folder").read_text()
    named = {Path(unquote(a["src"])) for tag, a in tags(page) if tag == "img"}
    assert {tmp_path / name for name in named} == set(folder.iterdir())
    assert all(a["loading"] == "lazy" for tag, a in tags(page) if tag == "img")
    assert [each for each in folder.iterdir() if each.stat().st_mode & 0o077] == []
    assert "base64," not in page
    with Image.open(next(folder.iterdir())) as image:
        assert image.size == (960, 600)
    (folder / "notes.txt").write_text("mine")
    write_report(synthetic.tell_run(tmp_path / "runs", "other", goals=1, steps=2), out, pictures="folder")
    kept = set(folder.iterdir())
    assert folder / "notes.txt" in kept
    assert 2 <= len(kept) - 1 < len(named), "the pictures of the earlier report are gone"
    assert not (tmp_path / "my report.html.part").exists()


def test_a_page_has_less_than_four_kilobytes_a_step_without_its_pictures(synthetic, tmp_path):
    sizes = []
    for goals in (2, 6):
        run = synthetic.tell_run(tmp_path, str(goals), goals=goals, steps=10, hostile=" A thought." * 6)
        sizes.append(write_report(run, tmp_path / "report.html", pictures="folder").stat().st_size)
    assert sizes[1] - sizes[0] < 40 * 4_000, "500 steps are below 2 MB"


def test_keys_filters_and_links_lead_from_step_to_step(searched, tmp_path):
    """In Chromium, with the page's own policy, and pictures next to the page."""
    page = write_report(searched.folder, tmp_path / "report.html", pictures="folder")
    current = "document.querySelector('.step.current')?.id"
    shown = "document.getElementById('shown').textContent"
    large = "document.getElementById('large-text').textContent"
    steps = build_story(open_trace(searched.folder).records()).steps
    trouble = {step.anchor for step in steps if report.trouble(step)}

    async def look() -> None:
        async with Tab.opened(tmp_path / "profile") as tab:

            async def press(*keys: str) -> None:
                for key in keys:
                    for kind in ("keyDown", "keyUp"):
                        await tab.ask("Input.dispatchKeyEvent", type=kind, key=key)

            async def choose(need: str) -> None:
                value = f"const need = document.getElementById('by-need'); need.value = {need!r};"
                await tab.value(f"{{ {value} need.dispatchEvent(new Event('input')) }}")

            await tab.go(f"{page.as_uri()}#s2-3")
            await tab.becomes(f"document.readyState + {current}", "completes2-3")
            await tab.becomes(
                "[...document.querySelectorAll('#s2-3 img')].every((each) => each.naturalWidth > 0)", True
            )
            loaded = await tab.value("[...document.images].filter((each) => each.naturalWidth).length")
            assert loaded < await tab.value("document.images.length"), "pictures out of view are not loaded"
            await press("ArrowRight", "ArrowRight", "ArrowLeft")
            assert await tab.value(current) == "s2-4"
            assert await tab.value("location.hash") == "#s2-4"
            await press("o", "ArrowRight", "ArrowRight")
            assert await tab.value(large) == "Screen before step 5: drag ‘column edge’"
            await press("Escape")
            assert await tab.value(current) == "s2-5"
            await choose("wrong")
            assert await tab.value(shown) == f"{len(trouble)} of 18 steps"
            visible = "[...document.querySelectorAll('article.step:not([hidden])')].map((each) => each.id).join()"
            assert set((await tab.value(visible)).split(",")) == trouble
            await choose("dearest")
            dearest = (await tab.value(visible)).split(",")
            await press(*["ArrowRight"] * 20)
            assert await tab.value(current) == dearest[-1], "keys stay among the steps that are shown"
            hidden = next(step.anchor for step in steps if step.anchor not in dearest)
            await tab.value(f"location.hash = {hidden!r}")
            await tab.becomes(current, hidden)
            assert await tab.value(shown) == "18 steps", "a link to a hidden step ends the filter"

    assert 0 < len(trouble) < 18
    asyncio.run(look())


def test_an_unwritable_report_is_an_error(synthetic, tmp_path):
    folder = synthetic.tell_run(tmp_path, goals=1, steps=2)
    with pytest.raises(InvalidUsage, match="cannot be written"):
        write_report(folder, tmp_path / "no" / "such" / "folder.html")
    (tmp_path / "report-pictures").touch()
    with pytest.raises(InvalidUsage, match="pictures cannot be written"):
        write_report(folder, tmp_path / "report.html", pictures="folder")
    assert not (tmp_path / "report.html").exists()
    with pytest.raises(InvalidUsage, match="no trace"):
        write_report(tmp_path / "nothing", tmp_path / "report.html")


def test_a_timeline_is_small_and_names_the_omitted_steps(synthetic, tmp_path):
    folder = synthetic.tell_run(tmp_path, goals=2, steps=14)
    trace = open_trace(folder)
    text = subgoal_markdown(trace.records(subgoal=2), 2, trace.frame, trace_uri=trace.uri)
    assert len(text.encode()) < 60_000
    assert text.count("<img ") == 10
    assert "the first 4 steps" in text
    assert trace.uri in text
    assert text == subgoal_markdown(trace.records(), 2, trace.frame, trace_uri=trace.uri)
    assert "no event" in subgoal_markdown(trace.records(), 7, trace.frame)


def test_a_timeline_works_without_pictures(told):
    def gone(sha256: str) -> bytes:
        raise DamagedTrace("gone")

    text = subgoal_markdown(open_trace(told.folder).records(), 1, gone)
    assert "The picture is not in the trace" in text
    assert "click ‘Search’" in text


def test_hostile_text_is_escaped_in_markdown(synthetic, tmp_path):
    markdown_it = pytest.importorskip("markdown_it")
    folder = synthetic.tell_run(tmp_path, goals=1, hostile=HOSTILE)
    trace = open_trace(folder)
    rendered = markdown_it.MarkdownIt("commonmark", {"html": True}).render(
        subgoal_markdown(trace.records(), 1, trace.frame)
    )
    found = tags(rendered)
    assert {tag for tag, _ in found} <= {"h3", "p", "em", "strong", "blockquote", "img", "sub", "code"}
    assert all(set(attributes) <= {"width", "alt", "src"} for _, attributes in found)
    assert escaped("a'b<c>&#x27;") == "a'b&lt;c&gt;&amp;\\#x27;"


def test_invalid_pictures_are_not_shown():
    assert smaller(b"no picture") is None
    assert smaller(b"") is None
    assert thumbnail(b"\xff\xd8\xff", [], None, most_bytes=100) is None


@pytest.mark.parametrize(("width", "small"), [(1280, 320), (1100, 275), (640, 320), (240, 240)])
def test_a_thumbnail_is_decoded_at_a_fraction_of_its_size(width, small):
    kept = io.BytesIO()
    Image.new("RGB", (width, width // 2), "navy").save(kept, "JPEG")
    assert thumbnail(kept.getvalue(), [], None, most_bytes=8_000).width == small


@pytest.mark.parametrize(
    ("drawn", "box"),
    [
        ([Ring(200, 120)], (191, 111, 210, 130)),
        ([Arrow(200, 120, 200, 60)], (195, 59, 206, 121)),
        ([Ring(200, 120), Arrow(200, 120, 260, 120)], (191, 111, 262, 130)),
        ([Ring(2, 3)], (0, 0, 12, 13)),
        ([Ring(200, 3000)], None),
    ],
    ids=str,
)
def test_a_mark_is_drawn_completely(drawn, box):
    """Only the part of the picture around a mark is drawn on. Nothing may be cut off at its edges."""
    page = Image.new("RGB", (320, 200), "navy")
    kept = io.BytesIO()
    page.save(kept, "PNG")
    with Image.open(io.BytesIO(thumbnail(kept.getvalue(), drawn, None, most_bytes=100_000).data)) as image:
        found = ImageChops.difference(image.convert("RGB"), page).convert("L").point(lambda value: value > 40 and 255)
    assert found.getbbox() == (pytest.approx(box, abs=1) if box else None)


@pytest.mark.parametrize(
    ("kind", "gesture", "drawn"),
    [
        ("click", {"at": {"x": 3, "y": 4}, "button": "left", "count": 1}, [Ring(3, 4)]),
        ("Click", {"at": [3, 4], "button": "right", "count": 2}, [Ring(3, 4, "right ×2")]),
        ("move", {"to": {"x": 3, "y": 4}}, [Ring(3, 4, "hover", hover=True)]),
        ("drag", {"start": {"x": 1, "y": 2}, "end": {"x": 3, "y": 4}}, [Ring(1, 2), Arrow(1, 2, 3, 4)]),
        ("click", {"at": {"x": "<script>", "y": 4}}, []),
        ("click", {"at": None}, []),
        ("dance", {"at": [1, 2]}, []),
    ],
)
def test_gestures_become_marks(kind, gesture, drawn):
    action = ActionIntended(gesture_kind=kind, gesture=gesture, label="", before="")
    assert marks(action) == drawn
    assert caption(action) == ""


@pytest.mark.parametrize(
    ("kind", "gesture", "words"),
    [
        ("write", {"text": "T-1", "press_enter": True}, "T-1 ⏎"),
        ("hotkey", {"keys": ["ctrl", "s"], "repeat": 2}, "ctrl+s ×2"),
        ("hold_and_tap", {"hold": ["alt"], "tap": ["tab", "tab"]}, "alt + tab tab"),
        ("hotkey", {"keys": None}, ""),
    ],
)
def test_gestures_without_a_position_have_a_caption(kind, gesture, words):
    assert caption(ActionIntended(gesture_kind=kind, gesture=gesture, label="", before="")) == words


def test_a_dialog_without_an_answer_is_in_the_summary():
    event = e.DialogUnanswered(title="Save changes?")
    story = build_story([e.Record(seq=0, at="", run="r", previous=e.FIRST, event=event, signature="")])
    said = ["".join(text for text, _ in sentence) for sentence in summary(story)]
    assert "While its desktop closed, a program opened the dialog ‘Save changes?’ and was ended without saving." in said


def test_a_killed_run_shows_its_reason_once_and_its_sub_goals_as_killed():
    why = "killed by `holo-tasks kill`: lunch"
    story = build_story(
        e.Record(seq=0, at="", run="r", previous=e.FIRST, event=event, signature="")
        for event in (
            e.SubgoalOpened(subgoal=1, title="Look.", goal="Look."),
            e.KillSeen(reason=why),
            e.RunClosed(status="killed", answer="", reason=why, steps=0, cost_micro_usd=0),
        )
    )
    assert story.status_of(story.subgoals[0]) == "killed"
    assert outcome_text(story) == ""


def test_the_filmstrip_has_a_caption(synthetic, tmp_path):
    page = write_report(synthetic.tell_run(tmp_path, goals=1, steps=16), tmp_path / "report.html").read_text()
    assert '<p class="caption">The last 10 actions</p>' in page


def test_the_print_version_has_no_charts_filmstrips_or_buttons(synthetic, tmp_path):
    page = write_report(synthetic.tell_run(tmp_path, goals=1, steps=3), tmp_path / "report.html").read_text()
    on_paper = page.partition("@media print{")[2].partition("}\n}")[0]
    (hidden,) = [rule for rule in on_paper.split("}") if "display:none!important" in rule]
    assert {".charts", ".strip", ".filters", ".keys", "dialog"} <= {*hidden.partition("{")[0].strip().split(",")}
