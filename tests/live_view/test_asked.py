"""Test the texts for a person with a question to answer: on the live view's page, in Prefect's form and in a shell."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request

from holo_tasks.audit.pages.formatting import until
from holo_tasks.core.person import CHOICES
from holo_tasks.handoff.page import command, form_text
from holo_tasks.handoff.pause import answer_form
from holo_tasks.live_view.access import ViewAccess
from holo_tasks.live_view.site import Site
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoffs

NOW = datetime(2026, 11, 23, 3, 4, tzinfo=UTC)


def test_the_page_shows_the_question_to_users_only(tmp_path: Path) -> None:
    site = Site(ViewAccess("127.0.0.1"), tmp_path)
    before = bytes(site._page(True).body)
    site.waiting_question = (
        "May <b>R-7</b> be filed?",
        "until 03:09 UTC on 23 November",
        "holo-tasks handoff resume abcd-efgh",
    )
    used, watched = bytes(site._page(True).body), bytes(site._page(False).body)
    assert b"May &lt;b&gt;R-7&lt;/b&gt; be filed?" in used
    assert b"until 03:09 UTC on 23 November" in used
    assert b"<code>holo-tasks handoff resume abcd-efgh</code>" in used
    for page in (before, watched):
        assert b"asked" not in page
        assert b"resume" not in page


def test_the_done_link_is_shown_to_recorded_users_only(tmp_path: Path) -> None:
    door, ended = ViewAccess("127.0.0.1"), list[str]()
    site = Site(door, tmp_path)

    def answered(path: str) -> int:
        request = Request(path, Headers(Host="127.0.0.1:7"))
        answer = site.answer(None, request)  # type: ignore[arg-type]
        assert answer is not None
        return answer.status_code

    assert b"recorded" not in bytes(site._page(True).body)
    assert answered(f"/{door.use}/done") == 404
    site.ended = lambda: ended.append("done")
    assert b"Your input on this page is recorded." in bytes(site._page(True).body)
    assert b"recorded" not in bytes(site._page(False).body)
    assert answered(f"/{door.watch}/done") == 404
    assert not ended
    assert answered(f"/{door.use}/done") == 200
    assert ended == ["done"]


@pytest.mark.parametrize(
    ("at", "said", "stays"),
    [
        ("2026-11-23T03:09:14+00:00", "until 03:09 UTC (in 5 min)", "until 03:09 UTC on 23 November"),
        ("2026-11-23T03:04:40+00:00", "until 03:04 UTC (in 40 s)", "until 03:04 UTC on 23 November"),
        ("2026-11-24T03:09:14+00:00", "until 03:09 UTC on 24 November (in 24 h)", "until 03:09 UTC on 24 November"),
        ("2026-11-26T03:09:14+00:00", "until 03:09 UTC on 26 November (in 3 days)", "until 03:09 UTC on 26 November"),
        ("soon", "until soon", "until soon"),
    ],
)
def test_time_limits_are_formatted_for_people(at: str, said: str, stays: str) -> None:
    assert until(at, now=NOW) == said
    assert until(at, now=NOW, stays=True) == stays


@pytest.mark.parametrize(
    ("choices", "words", "asks"),
    [
        (CHOICES, "--choice done", "What should the agent do?"),
        (("yes", "no, never"), "--choice yes, or --choice 'no, never'", "Your answer to the question above."),
    ],
)
def test_choices_appear_in_the_command_and_the_form(
    tmp_path: Path, choices: tuple[str, ...], words: str, asks: str
) -> None:
    handoff = Handoffs(store_at(tmp_path)).open("Go?", choices, run_id="R-1", timeout_s=60)
    assert command(handoff) == f"holo-tasks handoff resume {handoff.id} {words}"
    assert "T" not in form_text(handoff, None).partition("until ")[2].partition("UTC")[0]
    asked = answer_form(choices, "").model_fields["choice"]
    assert asked.description == asks
    assert asked.is_required(), "a run that is resumed without the form is not answered"
