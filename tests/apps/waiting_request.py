"""The request of the programs that wait for a server: in a thread, without any progress display."""

import http.client
import ssl
import threading
import time
from collections.abc import Callable
from urllib.parse import SplitResult, urlsplit

BUSY, RETRY_S = "busy", 2.5
FORM, ANSWER = "#cc0066", "#008855"


def ask(url: str) -> str:
    """Send a form to a server with a self-signed certificate; return its answer. Ask a busy server again.

    ``sleep:SECONDS`` sleeps instead, as a program with a timer does.
    """
    where = urlsplit(url)
    if where.scheme == "sleep":
        time.sleep(float(where.path))
        return ""
    while (answer := _asked(where)) == BUSY:
        time.sleep(RETRY_S)
    return answer


def _asked(where: SplitResult) -> str:
    if where.scheme == "https":
        connection = http.client.HTTPSConnection(where.netloc, context=ssl._create_unverified_context())
    else:
        connection = http.client.HTTPConnection(where.netloc)
    connection.request("POST", "/send", body="amount=12")
    answer = connection.getresponse().read().decode()
    connection.close()
    return answer


def ask_in_thread(url: str, then: Callable[[str], object]) -> None:
    """Send a form from a thread, and pass the answer to ``then`` in that thread."""
    threading.Thread(target=lambda: then(ask(url)), daemon=True).start()
