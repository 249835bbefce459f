"""Databases in practice: which ones work, the errors of those that do not, and the time until an error."""

from __future__ import annotations

import logging
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sqlalchemy as sa

from holo_tasks.core.errors import InvalidUsage, StoreLost
from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.safety.database import database_time_limit, schema
from holo_tasks.safety.database.store import TABLES, Store, store_at
from holo_tasks.safety.records.approvals import Approvals
from holo_tasks.safety.records.budgets import BUDGETS, Budgets
from holo_tasks.safety.records.items import Items
from holo_tasks.safety.records.ledger import Ledger
from holo_tasks.safety.records.run_list import RunBook
from tests.support.postgres import EVERY_DATABASE, Postgres
from tests.support.spending import Balance, balance, open_store, processes

SCOPE = Guard("s", Limits(max_cost_usd=1), 0, key="s")


@pytest.fixture(autouse=True)
def _no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_time_limit, "_silent", {})


def used(store: Store) -> None:
    """Write to the database and read from it."""
    Budgets(store).pay(Budgets(store).hold([SCOPE], 5), 2)
    assert balance(Budgets(store), "s").spent_micro > 0


def refusal(url: str) -> str:
    """Return the error of a database that cannot be used; it is one sentence."""
    with pytest.raises((StoreLost, InvalidUsage)) as caught:
        used(open_store(url))
    said = str(caught.value)
    assert "\n" not in said
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return said


@EVERY_DATABASE
def test_all_installed_databases_work(store_url: str) -> None:
    approvals = Approvals(open_store(store_url))
    approvals.grant(approvals.request("run", "token T", "press", "frame", "To press"), "ada")
    assert approvals.take("press", "frame", "token T") == "ada"


class TestItsForm:
    def test_a_database_of_the_first_release_is_migrated(self, tmp_path: Path) -> None:
        with closing(sqlite3.connect(tmp_path / "holo.db")) as made:
            made.executescript((Path(__file__).parent / "version_1.sql").read_text())
        store = store_at(tmp_path)
        assert balance(Budgets(store), "item:T-1:run") == Balance(20, 7, 0)
        found = Ledger(store).find("T-0", "flag", "in")
        assert found is not None
        assert found.result == '"out"'
        assert [item.token for item in Items(store).all()] == ["T-1"]
        with Ledger(store).claim("T-1", "flag") as claim:
            assert [intent.action for intent in claim.earlier] == ["click"]
        RunBook(store).began("r", title="t", model="m", limit_micro=None, trace="", flow_run_id="")
        used(store)

    def test_a_database_without_a_version_is_migrated_with_its_data(self, store_url: str) -> None:
        before = open_store(store_url)
        used(before)
        with before.transaction() as db:
            db.execute(sa.text("DROP TABLE holo_version"))
            db.execute(sa.text("DROP TABLE calls"))
        after = open_store(store_url)
        assert balance(Budgets(after), "s").spent_micro == 2
        with after.transaction() as db:
            assert db.execute(sa.text("SELECT version FROM holo_version")).scalars().all() == [schema.newest()]
            assert schema.has_table(db, "calls")

    def test_the_first_process_creates_all_tables(self, postgres: Postgres, tmp_path: Path) -> None:
        """Run in a new process that has imported no module with a table."""
        urls = [f"sqlite:///{tmp_path / 'holo.db'}", postgres.new_database()]
        make = (
            "import sys; from holo_tasks.safety.database.store import Store; "
            "[Store(url).examine() for url in sys.argv[1:]]"
        )
        subprocess.run([sys.executable, "-c", make, *urls], check=True, cwd=Path(__file__).parent.parent.parent.parent)
        for url in urls:
            with closing(sa.create_engine(open_store(url).url).connect()) as db:
                made = set(sa.inspect(db).get_table_names())
            assert {*TABLES.tables, "handoffs", "kills", "approvals", "meters", "holo_version"} <= made

    def test_all_modules_with_tables_are_listed(self) -> None:
        modules = (Path(schema.__file__).parent.parent / "records").glob("*.py")
        with_tables = {path.stem for path in modules if " = sa.Table(" in path.read_text()}
        assert with_tables == set(schema.TABLE_MODULES)

    def test_an_older_database_is_migrated_once(self, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        used(open_store(store_url))
        done, steps = [], schema.STEPS

        def step(name: str) -> schema.Step:
            def change(db: sa.Connection) -> None:
                done.append(name)
                db.execute(sa.text(f"ALTER TABLE budgets ADD COLUMN {name} BIGINT NOT NULL DEFAULT 7"))

            return change

        monkeypatch.setattr(schema, "STEPS", (*steps, step("second")))
        used(open_store(store_url))
        monkeypatch.setattr(schema, "STEPS", (*steps, step("second"), step("third")))
        with open_store(store_url).transaction() as db:
            assert db.execute(sa.text("SELECT second + third FROM budgets")).scalars().all() == [14]
        open_store(store_url)
        assert done == ["second", "third"]

    def test_a_new_database_needs_no_migration(self, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(schema, "STEPS", (lambda db: pytest.fail("there is nothing to change"),))
        used(open_store(store_url))
        used(open_store(store_url))

    def test_a_failed_migration_changes_nothing(self, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        used(open_store(store_url))

        def broken(db: sa.Connection) -> None:
            db.execute(sa.text("ALTER TABLE budgets ADD COLUMN more BIGINT"))
            db.execute(sa.text("ALTER TABLE nowhere ADD COLUMN more BIGINT"))

        monkeypatch.setattr(schema, "STEPS", (*(steps := schema.STEPS), broken))
        refusal(store_url)
        monkeypatch.setattr(schema, "STEPS", steps)
        store = open_store(store_url)
        used(store)
        with store.transaction() as db:
            assert "more" not in {column["name"] for column in sa.inspect(db).get_columns("budgets")}

    def test_a_database_of_a_newer_version_is_not_changed(
        self, store_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(schema, "STEPS", (lambda db: None,) * (schema.newest() + 1))
        used(open_store(store_url))
        monkeypatch.undo()
        assert "a newer version of prefect-holo" in refusal(store_url)

    def test_wrong_tables_and_a_full_disk_have_different_messages(self, store_url: str) -> None:
        with open_store(store_url).transaction() as db:
            db.execute(sa.text("ALTER TABLE runs DROP COLUMN steps"))
        with pytest.raises(StoreLost, match=r"its tables are not as prefect-holo makes them: .*steps"):
            RunBook(open_store(store_url)).latest(1)

    def test_an_old_server_is_refused_with_the_oldest_supported_version(
        self, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(schema, "OLDEST_POSTGRES", 99)
        said = refusal(postgres.new_database())
        assert "is a Postgres 1" in said
        assert "the oldest supported version is 99" in said


SLIPS = [
    "{user}:Can@CANARY@127.0.0.1:9/db",
    "{user}:Can@CAN/ARY@127.0.0.1:9/db",
    "{user}:Can@CANARY?x@127.0.0.1:9/db",
    "{user}:Can@CANARY#x@127.0.0.1:9/db",
    "{user}:CANARY/x@127.0.0.1:9/db",
    "{user}:CANARY?x@127.0.0.1:9/db",
    "{user}:CANARY#x@127.0.0.1:9/db",
    "{user}:CANARY:x@127.0.0.1:9/db",
    "{user}:CANARY%zz@127.0.0.1:9/db",
    "{user}:CANARY%40@127.0.0.1:9/db",
    "{user}:CANARY [x]@127.0.0.1:9/db",
    "{user}:CANARY\\x@127.0.0.1:9/db",
    "{user}:CANARY",
    "{user}:CANARY/db",
    "{user}:CANARY127.0.0.1:9/db",
    "/{user}:CANARY@127.0.0.1:9/db",
    "{user}/CANARY@127.0.0.1:9/db",
    "127.0.0.1:9/db?user={user}&password=CANARY",
    "127.0.0.1:9/db?user={user}&passwort=CANARY",
    "127.0.0.1:9/db?sslmode=CANARY",
    "127.0.0.1:9/db?CANARY",
    "127.0.0.1:9/db?options=-cCANARY",
    "CANARY@127.0.0.1:9/db",
]


@pytest.mark.parametrize("local_only", ["0", "1"])
@pytest.mark.parametrize("user", ["holo", ""])
@pytest.mark.parametrize("slip", SLIPS)
def test_no_typing_error_in_the_url_reveals_the_password(
    slip: str, user: str, local_only: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLO_LOCAL_ONLY", local_only)
    for scheme in ("postgresql", "postgres", "postgresql+psycopg", "postgres//", "mysql"):
        assert "CAN" not in refusal(f"{scheme}://{slip.format(user=user)}")


def test_an_at_sign_in_a_password_must_be_escaped() -> None:
    assert "%40" in refusal("postgresql://holo:Can@CANARY@127.0.0.1:9/db")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"user": "nobody_known"}, "refuses the login"),
        ({"dbname": "none_such"}, "the database does not exist"),
        ({"port": "9"}, "no server listens there"),
        ({"user": "crowded"}, "takes no more connections"),
        ({"user": "reader"}, "permission denied for schema public"),
        ({"options": "-cdefault_transaction_read_only=on"}, "it is read-only"),
        ({"sslmode": "require"}, "TLS failed"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)) + "-" + str(next(iter(value.values()))),
)
def test_refusals_of_a_server_have_their_own_messages(postgres: Postgres, change: dict[str, str], said: str) -> None:
    for name, limit in (("crowded", 0), ("reader", 5)):
        postgres.run(
            f"DO $$ BEGIN CREATE ROLE {name} LOGIN CONNECTION LIMIT {limit}; "
            "EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
    url = sa.make_url(postgres.new_database())
    changed = url.set(
        username=change.pop("user", url.username),
        database=change.pop("dbname", url.database),
        port=int(change.pop("port", url.port)),
        query=change,
    )
    assert said in refusal(changed.render_as_string(hide_password=False))


def told_to_nobody(home: str, answer: Connection) -> None:
    """Switch to the user nobody, and send the error that this user gets from a database that it may only read."""
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    try:
        used(Store(f"sqlite:///{home}/holo.db"))
    except StoreLost as error:
        answer.send(str(error))
    answer.send("nothing")


@pytest.fixture
def open_home() -> Iterator[Path]:
    """A folder that all users can access."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("there", [True, False])
def test_read_only_files_and_folders(open_home: Path, there: bool) -> None:
    if there:
        used(store_at(open_home))
        (open_home / "holo.db").chmod(0o444)
    ours, theirs = processes.Pipe()
    process = processes.Process(target=told_to_nobody, args=(str(open_home), theirs))
    process.start()
    assert ours.poll(30)
    said = ours.recv()
    process.join()
    assert "let this user write to" in said
    assert "set HOLO_HOME" in said


class TestAFile:
    def test_a_locked_database(self, tmp_path: Path) -> None:
        store = store_at(tmp_path)
        used(store)
        other = sqlite3.connect(tmp_path / "holo.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreLost, match="another process has kept it locked"), store.transaction(0.1):
            pass
        other.close()

    def test_a_full_disk(self, tmp_path: Path) -> None:
        store = store_at(tmp_path)
        used(store)
        with store.transaction() as db:
            db.exec_driver_sql("PRAGMA max_page_count = 1")  # as a full disk does, SQLite says SQLITE_FULL
        long = "x" * 100_000
        with pytest.raises(StoreLost, match="its disk is full"):
            Items(store).file(long, "g", status="s", reason=long, trace="", flow_run_id="", how={})


class TestAServerThatFails:
    def test_a_hung_server_is_given_up_after_the_patience(self, postgres: Postgres) -> None:
        store = open_store(postgres.new_database())
        used(store)
        with postgres.frozen():
            for patience_s, least_s, most_s in (
                (1.0, 0.9, 6.0),
                (30.0, database_time_limit.BRIEF_S - 0.1, database_time_limit.BRIEF_S + 6),
            ):
                began = time.monotonic()
                silent = pytest.raises(StoreLost, match=r"has not answered for \d s; see that")
                with silent, store.transaction(patience_s) as db:
                    db.execute(sa.text("SELECT 1"))
                assert least_s <= time.monotonic() - began < most_s
        used(store)

    def test_a_wait_ends_in_time_next_to_longer_ones_and_after_a_fork(self, tmp_path: Path) -> None:
        ours, theirs = socket.socketpair()

        def wait_in_vain() -> None:
            with database_time_limit.TransactionDeadline("the same", 0.1) as watch:
                watch.watch_connection(ours.fileno())
                ours.settimeout(20)
                assert ours.recv(1) == b""

        with ours, theirs, database_time_limit.TransactionDeadline("another", 30.0) as longer:
            longer.watch_connection(theirs.fileno())
            if (forked := os.fork()) == 0:
                try:
                    wait_in_vain()
                except BaseException:
                    (tmp_path / "said").write_text(traceback.format_exc())
                finally:
                    os._exit((tmp_path / "said").exists())
            ended = os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1])
            assert ended == 0, (tmp_path / "said").read_text()
        ours, theirs = socket.socketpair()
        with ours, theirs, database_time_limit.TransactionDeadline("another", 30.0) as longer:
            longer.watch_connection(theirs.fileno())
            wait_in_vain()

    def test_a_server_that_hangs_in_a_transaction_commits_nothing(self, postgres: Postgres) -> None:
        store = open_store(postgres.new_database())
        used(store)

        def spoil() -> None:
            with store.transaction(1.0) as db:
                db.execute(sa.delete(BUDGETS))
                with postgres.frozen():
                    db.execute(sa.text("SELECT 1"))

        with pytest.raises(StoreLost, match="has not answered for 1 s"):
            spoil()
        assert balance(Budgets(store), "s").spent_micro == 2

    def test_a_server_that_accepts_no_login_is_given_up_in_time(
        self, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database_time_limit, "CONNECT_S", 1.0)
        url = postgres.new_database()
        with postgres.frozen():
            assert "has not answered for" in refusal(url)
        used(open_store(url))

    def test_lost_connections_are_reopened(self, postgres: Postgres) -> None:
        store = open_store(postgres.new_database())
        used(store)
        postgres.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        used(store)

    def test_a_connection_lost_in_a_transaction(
        self, postgres: Postgres, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        store = open_store(postgres.new_database())
        used(store)
        kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"

        def rename() -> None:
            with store.transaction() as db:
                db.execute(sa.update(BUDGETS).values(name="CANARY"))
                postgres.run(kill)
                db.execute(sa.update(BUDGETS).values(name="CANARY"))

        with caplog.at_level(logging.INFO), pytest.raises(StoreLost, match="try again when it is back"):
            rename()
        assert "CANARY" not in caplog.text + "".join(capfd.readouterr())
        used(store)

    def test_a_server_that_crashes_and_restarts(self, postgres: Postgres) -> None:
        store = open_store(postgres.new_database())
        used(store)
        postgres.crash()
        try:
            with pytest.raises(StoreLost, match="no server listens there"):
                used(store)
        finally:
            postgres.start()
        used(store)

    def test_an_exhausted_connection_pool(self, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
        store = open_store(postgres.new_database())
        used(store)
        store._engine.pool._timeout = 0.1  # type: ignore[attr-defined]
        held = [store._engine.connect() for _ in range(15)]
        with pytest.raises(StoreLost, match="all connections of this process are in use"):
            used(store)
        for connection in held:
            connection.close()

    def test_a_held_lock_differs_from_a_silent_server(self, postgres: Postgres) -> None:
        url = postgres.new_database()
        store, other = open_store(url), open_store(url)
        used(store)
        held = pytest.raises(StoreLost, match=r"another transaction has held a needed lock for too long\); try again")
        with other.transaction() as theirs:
            theirs.execute(sa.update(BUDGETS).values(actions=1))
            for _ in range(2):
                began = time.monotonic()
                with held, store.transaction(1.0) as db:
                    db.execute(sa.update(BUDGETS).values(actions=2))
                assert time.monotonic() - began > 0.5
            theirs.execute(sa.text("SELECT 1"))
        assert database_time_limit._silent == {}
        assert balance(Budgets(store), "s").actions == 1

    def test_all_locks_of_a_transaction_share_one_time_limit(self, postgres: Postgres) -> None:
        url = postgres.new_database()
        store, other = open_store(url), open_store(url)
        used(store)
        with other.transaction() as theirs:
            theirs.execute(sa.update(BUDGETS).values(actions=1))

            def waits_at_the_end() -> None:
                with store.transaction(2.0) as db:
                    db.execute(sa.text("SELECT pg_sleep(1.4)"))
                    db.execute(sa.update(BUDGETS).values(actions=2))

            with pytest.raises(StoreLost, match="another transaction has held"):
                waits_at_the_end()
            with (
                pytest.raises(StoreLost, match="a statement took too long or was cancelled"),
                store.transaction(3.0) as db,
            ):
                db.execute(sa.text("SELECT pg_sleep(30)"))
        assert database_time_limit._silent == {}

    def test_an_exhausted_pool_does_not_mark_the_server_silent(self, postgres: Postgres) -> None:
        store = open_store(postgres.new_database())
        used(store)
        store._engine.pool._timeout = 0.5  # type: ignore[attr-defined]
        with store._time_limit(30.0):
            held = [store._engine.connect() for _ in range(15)]
        with pytest.raises(StoreLost, match="all connections of this process are in use"), store.transaction(0.1):
            pass
        assert database_time_limit._silent == {}
        for connection in held:
            connection.close()
        used(store)

    def test_deadlocked_transactions_are_retried(self, postgres: Postgres) -> None:
        store = open_store(postgres.new_database())
        for name in "ab":
            Budgets(store).hold([Guard(name, Limits(max_cost_usd=1), 0, key=name)], 0)
        together = threading.Barrier(2)
        tries: list[str] = []

        def lock(names: str) -> None:
            def work(db: sa.Connection) -> None:
                tries.append(names)
                db.execute(sa.select(BUDGETS).where(BUDGETS.c.scope == names[0]).with_for_update())
                if len(tries) <= 2:
                    together.wait(20)
                row = sa.update(BUDGETS).where(BUDGETS.c.scope == names[1])
                db.execute(row.values(actions=BUDGETS.c.actions + 1))

            store.do(work)

        other = threading.Thread(target=lock, args=("ba",))
        other.start()
        lock("ab")
        other.join()
        assert len(tries) in (3, 4), "each once more at most"
        assert [balance(Budgets(store), name).actions for name in "ab"] == [1, 1]


def test_errors_hide_the_parameters_of_statements(store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(store_url)
    with caplog.at_level(logging.INFO, logger="sqlalchemy"):
        Items(store).file("CANARY", "g", status="s", reason="r", trace="", flow_run_id="", how={})
        with pytest.raises(StoreLost) as caught, store.transaction() as db:
            db.execute(sa.text("SELECT :secret FROM nowhere"), {"secret": "CANARY"})
    assert "INSERT INTO items" in caplog.text
    assert "CANARY" not in caplog.text + str(caught.value)
