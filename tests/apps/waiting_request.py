"""How the programs that wait for a server ask it: each of them does so in a thread, and shows no sign meanwhile."""

import http.client
import ssl
import threading
from collections.abc import Callable
from urllib.parse import urlsplit

FORM, ANSWER = "#cc0066", "#008855"


def ask(url: str) -> str:
    """Send a form to a server whose certificate nobody vouches for; return its answer."""
    where = urlsplit(url)
    if where.scheme == "https":
        connection = http.client.HTTPSConnection(where.netloc, context=ssl._create_unverified_context())
    else:
        connection = http.client.HTTPConnection(where.netloc)
    connection.request("POST", "/send", body="amount=12")
    answer = connection.getresponse().read().decode()
    connection.close()
    return answer


def ask_in_thread(url: str, then: Callable[[str], object]) -> None:
    """Send a form from a thread, and have the answer given to ``then`` in that thread."""
    threading.Thread(target=lambda: then(ask(url)), daemon=True).start()
