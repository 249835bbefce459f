"""The databases that people have: which are used, and what is said of those that cannot be."""

from __future__ import annotations

from holo_tasks.safety.approvals import Approvals
from tests.support.postgres import EVERY_DATABASE
from tests.support.spending import open_store


@EVERY_DATABASE
def test_every_database_that_is_installed_can_be_used(store_url: str) -> None:
    approvals = Approvals(open_store(store_url))
    approvals.grant(approvals.request("run", "token T", "press", "frame", "To press"), "ada")
    assert approvals.take("press", "frame", "token T") == "ada"
