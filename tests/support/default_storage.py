"""Each flow run asks Prefect's server where its results go unless told: of the shared server, once is enough.

To ask takes a client of its own each time. No test says anything of the kind to that server; whoever asks another
server, or with other settings of Prefect's, asks each time, as ever.
"""

from __future__ import annotations

from uuid import UUID


def ask_once(url: str) -> None:
    """Ask the server with this URL, which is the one of the settings; flow runs that would ask it are told the same."""
    from prefect import results
    from prefect.settings import PREFECT_API_URL

    ask = results._read_server_default_result_storage_block_id
    ask_async = results._aread_server_default_result_storage_block_id
    told = ask()

    def answered() -> UUID | None:
        return told if PREFECT_API_URL.value() == url else ask()

    async def answered_async() -> UUID | None:
        return told if PREFECT_API_URL.value() == url else await ask_async()

    results._read_server_default_result_storage_block_id = answered
    results._aread_server_default_result_storage_block_id = answered_async
