"""Checks of the evidence store, the shared database and Prefect."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from holo_tasks.audit import S3, Destination, Folder, StoreTrouble
from holo_tasks.cli import settings
from holo_tasks.cli.doctor import trust
from holo_tasks.cli.doctor.findings import Chain
from holo_tasks.cli.verify import ready
from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.machine import pending_notes
from holo_tasks.machine.home import holo_home
from holo_tasks.models.address import shown
from holo_tasks.prefect_server.local_only import check_anchors, check_database, switched_on
from holo_tasks.prefect_server.local_only import check_prefect as check_prefect_here
from holo_tasks.prefect_server.temporary import configured_api_url, require_server
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE
from holo_tasks.safety.database.store import store_at

T = TypeVar("T")

PROBE = bytes(range(256)) * 16
ADVICE = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some space there",
    errno.EACCES: "get the right to write there",
    errno.EPERM: "get the right to write there",
    errno.EROFS: "mount it to be written to",
    errno.EEXIST: "move the file that is in the way",
    errno.ENOTDIR: "move the file that is in the way",
}


async def check_audit(chain: Chain, audit: str | None, timeout_s: float) -> None:
    """Write a test file to the destination of evidence, read it back and delete it."""
    home = holo_home()
    destination = settings.audit(audit, home)
    said = await _in_daemon_thread(lambda: _test_destination(destination, home, timeout_s), timeout_s, "Evidence")
    try:
        doubts = await _in_daemon_thread(lambda: trust.of_home(home), timeout_s, "Local state")
    except InvalidUsage as error:
        doubts = [str(error)]
    chain.tell(said, doubts)


async def check_prefect(chain: Chain, timeout_s: float) -> None:
    """Check that the configured Prefect API answers. Deliver the states of ended flow runs that it has not received."""
    url = configured_api_url(os.environ)
    if url is None:
        doubts = trust.of_prefect(None, os.environ, timeout_s)
        chain.tell("No Prefect API is configured: a temporary server will be started for each run.", doubts)
        return
    if switched_on(os.environ):
        url = check_prefect_here(url)
    await _in_daemon_thread(lambda: require_server(url, timeout_s), timeout_s, f"Prefect at {shown(url)}")
    doubts = await _in_daemon_thread(
        lambda: trust.of_prefect(url, os.environ, timeout_s), 2 * timeout_s, "Prefect's login"
    )
    sentences = [f"A Prefect API answers at {shown(url)}."]
    if any(pending_notes.pending(holo_home(), "flow-run")):
        from holo_tasks.run.prefect_edge.unreported_runs import report_noted  # Prefect takes seconds to load

        sentences += await report_noted(holo_home())
    chain.tell(" ".join(sentences), doubts)


async def check_shared_database(chain: Chain, timeout_s: float) -> None:
    """Check the database that HOLO_DATABASE_URL names. Its contents stay unchanged."""

    def examine() -> str:
        store = store_at(holo_home())
        return f"Runs share the database {store.place}, which is {store.examine()} and can be read and written."

    chain.ok(await _in_daemon_thread(examine, timeout_s, f"The database of {DATABASE_VARIABLE}"))


def _test_destination(destination: Destination, home: Path, timeout_s: float) -> str:
    """Check that evidence can be written and signed. Return a sentence that says so."""
    if switched_on(os.environ):
        check_database()
        check_anchors()
    said = _test_writing(destination, home, timeout_s)
    ready(home)  # the signing key and the anchors
    return said


def _test_writing(destination: Destination, home: Path, timeout_s: float) -> str:
    name = f".holo-doctor-{secrets.token_hex(8)}"
    match destination:
        case Folder(path):
            _check_folder(destination)
            stays = _test_folder(path, name)
            return f"Evidence can be written to {path} and read back{stays}."
        case S3():
            destination.check()
            # Evidence goes to a spool on this machine before it is sent.
            spool = Folder(home / "spool")
            _check_folder(spool)
            _test_folder(spool.path, name)
            stays = _test_bucket(destination, name, timeout_s)
            return f"Evidence can be written to {destination.place.uri} and read back{stays}."
    raise InvalidUsage("This kind of place for evidence cannot be tried.")


def _check_folder(folder: Folder) -> None:
    try:
        folder.check()
    except InvalidUsage as error:
        raise _with_advice(error, folder.path) from None


def _test_folder(folder: Path, name: str) -> str:
    """Write, read and delete a file. Return a phrase if it cannot be deleted, else an empty text."""
    path = folder / name
    try:
        with path.open("xb") as file:
            file.write(PROBE)
            file.flush()
            os.fsync(file.fileno())
        if path.read_bytes() != PROBE:
            raise InvalidUsage(f"{folder} gives back other bytes than were written: do not trust it with evidence.")
    except OSError as error:
        raise _with_advice(error, folder) from None
    finally:
        stays = _removed(path)
    return stays


def _removed(path: Path) -> str:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return f"; nothing may be deleted there, so {path.name} stays"
    return ""


def _with_advice(error: OSError | InvalidUsage, folder: Path) -> InvalidUsage:
    cause = error if isinstance(error, OSError) else error.__cause__
    if not isinstance(cause, OSError):
        return InvalidUsage(str(error))
    advice = ADVICE.get(cause.errno or 0, "look into it")
    elsewhere = "set HOLO_HOME" if folder.is_relative_to(holo_home().absolute()) else "give --audit"
    return InvalidUsage(
        f"Evidence cannot be written to {folder} ({cause.strerror}): {advice}, or {elsewhere} to use another folder."
    )


def _test_bucket(destination: S3, name: str, timeout_s: float) -> str:
    """Put, get, list and delete an object. Return a phrase if it cannot be deleted, else an empty text."""
    from holo_tasks.audit.s3 import Bucket

    # Four calls connect and read. They must end within the timeout, so that the object is deleted again.
    each = timeout_s / 10
    bucket = Bucket(destination.place, destination.keys, connect_s=each, read_s=each, attempts=1)
    key = destination.place.key(name)
    try:
        try:
            bucket.put_once(key, PROBE, retain=False)
            if bucket.get(key) != PROBE:
                raise InvalidUsage(f"{destination.place.uri} gives back other bytes than were written.")
            if key not in bucket.names(key):
                raise InvalidUsage(
                    f"{destination.place.uri} does not list the object that was written: allow s3:ListBucket there."
                )
        except HoloError:
            with suppress(StoreTrouble):
                bucket.discard(key)
            raise
        gone = bucket.discard(key)
    finally:
        bucket.close()
    return "" if gone else f"; nothing may be deleted there, as is right for evidence, so {name} stays"


async def _in_daemon_thread(work: Callable[[], T], timeout_s: float, what: str) -> T:
    """Do blocking work in a daemon thread, for at most ``timeout_s``.

    The process can end while the thread hangs, for example on a dead disk. Raises `InvalidUsage` at the timeout.
    """
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(work())
        except Exception as error:
            done.set_exception(error)

    threading.Thread(target=run, name=what, daemon=True).start()
    try:
        return await asyncio.wait_for(asyncio.wrap_future(done), timeout_s)
    except TimeoutError:
        raise InvalidUsage(f"{what} took longer than {timeout_s:g} s: check that disk or server.") from None
