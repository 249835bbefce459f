"""Read secrets from Prefect blocks, the keyring of the operating system and HashiCorp Vault.

`VAULTS` has one `Vault` for each prefix of a source. No error message contains a value, or a text of the vault.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import socket
from collections.abc import Mapping
from typing import Any, Protocol, cast
from urllib.parse import quote

from holo_tasks.core.errors import InvalidUsage, Unavailable
from holo_tasks.core.extras import require_extra
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.core.this_machine import pinned_url, switched_on
from holo_tasks.machine.patience import is_away

TIMEOUT_S = 10.0
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP status codes of a vault that is busy or not up yet."""


class Vault(Protocol):
    """A place that holds secrets."""

    form: str
    """The form of a source, for messages."""
    pattern: re.Pattern[str]
    """The part of a source after its prefix and colon."""

    async def read(self, place: re.Match[str], environ: Mapping[str, str]) -> str:
        """Return the value, or an empty string without one.

        Raises `Unavailable` if the place does not answer, and `InvalidUsage` if it refuses.
        """
        ...


class PrefectBlock:
    """A Secret block, or any block that can read a secret, such as AwsSecret of prefect-aws."""

    form = "block:NAME or block:TYPE/NAME"
    pattern = re.compile(r"(?:(?P<type>[a-z0-9-]+)/)?(?P<name>[a-z0-9-]+)(?:#(?P<field>.+))?")

    async def read(self, place: re.Match[str], environ: Mapping[str, str]) -> str:
        """Return the value of the block."""
        import httpx
        from prefect.blocks.core import Block
        from prefect.exceptions import PrefectException

        kind, name = place["type"] or "secret", place["name"]
        called = f"the {kind} block {name!r}" if place["type"] else f"the Secret block {name!r}"
        try:
            block = cast("Any", await Block.aload(f"{kind}/{name}"))
        except (httpx.HTTPError, PrefectException, RuntimeError) as error:
            why = first_line(error)
            refusal = Unavailable if is_away(error) else InvalidUsage
            raise refusal(f"Prefect's server did not return {called} ({why}).") from None
        except ValueError:
            return ""
        return _field(await _value_in(block, called), place["field"], called)


class Keyring:
    """The keyring of the operating system, by the package keyring."""

    form = "keyring:SERVICE/USER"
    pattern = re.compile(r"(?P<service>[^/]+)/(?P<user>.+)")

    async def read(self, place: re.Match[str], environ: Mapping[str, str]) -> str:
        """Return the password of a user for a service."""
        require_extra("keyring", "keyring", "A secret from the keyring")
        import keyring

        try:
            return await asyncio.to_thread(keyring.get_password, place["service"], place["user"]) or ""
        except Exception as error:  # each backend has its own errors
            why = type(error).__name__
            raise InvalidUsage(f"The keyring did not return the password of {place[0]!r} ({why}).") from None


class HashiCorpVault:
    """The key-value store (version 2) of HashiCorp Vault, at VAULT_ADDR with VAULT_TOKEN."""

    form = "vault:MOUNT/PATH#FIELD"
    pattern = re.compile(r"(?P<mount>[^/#]+)/(?P<path>[^#]+)#(?P<field>.+)")

    async def read(self, place: re.Match[str], environ: Mapping[str, str]) -> str:
        """Return one field of a secret."""
        import httpx

        address, token = environ.get("VAULT_ADDR", "").rstrip("/"), environ.get("VAULT_TOKEN", "")
        if not (address and token):
            raise InvalidUsage("A secret from Vault needs VAULT_ADDR and VAULT_TOKEN.")
        if switched_on(environ):
            address = pinned_url(address, socket.getaddrinfo, "Vault")
        headers = {"X-Vault-Token": token, "X-Vault-Request": "true"}
        if namespace := environ.get("VAULT_NAMESPACE"):
            headers["X-Vault-Namespace"] = namespace
        url = f"{address}/v1/{quote(place['mount'])}/data/{quote(place['path'])}"
        called = f"Vault's secret {place['mount']}/{place['path']}"
        try:
            async with httpx.AsyncClient(verify=environ.get("VAULT_CACERT") or True, timeout=TIMEOUT_S) as client:
                answer = await client.get(url, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            refusal = Unavailable if isinstance(error, Exception) and is_away(error) else InvalidUsage
            raise refusal(f"Vault did not answer for {called} ({type(error).__name__}).") from None
        if answer.status_code == httpx.codes.NOT_FOUND:
            return ""
        if answer.is_error:
            refusal = Unavailable if answer.status_code in _PASSING else InvalidUsage
            raise refusal(f"Vault did not return {called} (HTTP {answer.status_code}).")
        try:
            found = answer.json()["data"]["data"]
        except (ValueError, KeyError, TypeError):
            raise InvalidUsage(f"{called} is not in a key-value store of version 2.") from None
        return _field(json.dumps(found), place["field"], called)


VAULTS: Mapping[str, Vault] = {"block": PrefectBlock(), "keyring": Keyring(), "vault": HashiCorpVault()}


def vault_of(source: str) -> tuple[Vault, re.Match[str]] | None:
    """Return the vault of a source and the parsed place in it, or ``None`` if no vault has this form."""
    kind, _, place = source.partition(":")
    vault = VAULTS.get(kind)
    found = vault.pattern.fullmatch(place) if vault else None
    return (vault, found) if vault and found else None


async def _value_in(block: Any, called: str) -> str:
    """Return the value of a Secret block, or of a block that reads one from elsewhere."""
    read = getattr(block, "aread_secret", None) or getattr(block, "read_secret", None) or getattr(block, "get", None)
    if read is None:
        raise InvalidUsage(f"{called} holds no secret.")
    try:
        value = read()
        if inspect.isawaitable(value):
            value = await value
        return value.decode() if isinstance(value, bytes) else str(value)
    except Exception as error:  # each library has its own errors
        why = type(error).__name__
        raise InvalidUsage(f"Nothing could be read by {called} ({why}).") from None


def _field(text: str, field: str | None, called: str) -> str:
    """Return a field of a JSON object, or the whole text without ``field``."""
    if not field or not text:
        return text
    try:
        value = json.loads(text)[field]
    except (ValueError, KeyError, TypeError):
        raise InvalidUsage(f"{called} has no field {field!r}.") from None
    return value if isinstance(value, str) else json.dumps(value)
