"""Read secrets from Prefect blocks, the keyring of the operating system, HashiCorp Vault and Bitwarden.

`VAULTS` has one `Vault` for each prefix of a source. No error message contains a value, or a text of the vault.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping
from typing import Any, Protocol, cast
from urllib.parse import quote

from holo_tasks.core.errors import InvalidUsage, Unavailable
from holo_tasks.core.extras import require_extra
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.core.this_machine import pinned_url, switched_on
from holo_tasks.machine.network_variables import CERTIFICATES, PROXIES
from holo_tasks.machine.patience import is_away

TIMEOUT_S = 10.0
COMMAND_TIMEOUT_S = 30.0
"""Longest time of Bitwarden's commands, which start slowly and may wait for a server."""
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP status codes of a vault that is busy or not up yet."""
_PROXIES = {spelling for name in (*PROXIES, "NO_PROXY") for spelling in (name, name.lower())}
_FOR_COMMANDS = frozenset(
    {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME", "BITWARDENCLI_APPDATA_DIR"}
    | {"NODE_EXTRA_CA_CERTS", *CERTIFICATES, *_PROXIES}
)
"""Environment variables that Bitwarden's commands get in addition to their own keys. Other secrets are not passed
on."""


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
    pattern = re.compile(r"(?!(?:.*/)?\.\.?[/#])(?P<mount>[^/#]+)/(?P<path>[^#]+)#(?P<field>.+)")

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
            trusted = environ.get("VAULT_CACERT") or True
            # In local-only mode no proxy gets the token.
            may_use_proxy = not switched_on(environ)
            async with httpx.AsyncClient(verify=trusted, timeout=TIMEOUT_S, trust_env=may_use_proxy) as client:
                answer = await client.get(url, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            refusal = Unavailable if isinstance(error, Exception) and is_away(error) else InvalidUsage
            raise refusal(f"Vault did not answer for {called} ({type(error).__name__}).") from None
        if answer.status_code == httpx.codes.NOT_FOUND:
            return ""
        if answer.is_redirect:  # the token is sent to no other address than the user's
            raise InvalidUsage("The server at VAULT_ADDR refers to another one: set VAULT_ADDR to the active server.")
        if answer.is_error:
            refusal = Unavailable if answer.status_code in _PASSING else InvalidUsage
            raise refusal(f"Vault did not return {called} (HTTP {answer.status_code}).")
        try:
            found = answer.json()["data"]["data"]
        except (ValueError, KeyError, TypeError):
            raise InvalidUsage(f"{called} is not in a key-value store of version 2.") from None
        return _field(json.dumps(found), place["field"], called)


class BitwardenItem:
    """An item of Bitwarden's password manager, by the user's command `bw` with the key in BW_SESSION."""

    form = "bw:ITEM#FIELD"
    pattern = re.compile(r"(?P<item>[^#]+)(?:#(?P<field>.+))?")

    async def read(self, place: re.Match[str], environ: Mapping[str, str]) -> str:
        """Return the password of an item, or another of its fields. The item is named by its name or its id."""
        item, called = place["item"], f"Bitwarden's item {place['item']!r}"
        # With `--` no name is taken for an option.
        done = await _command(["bw", "--nointeraction", "get", "item", "--", item], ("BW_SESSION",), environ)
        if done.returncode:
            return _explain_bw(done, called)
        found = _json_object(done.stdout, called)
        # `bw` searches if no item has that id, and returns an item with a similar name.
        if item not in (found.get("id"), found.get("name")) or found.get("deletedDate"):
            return ""
        return _item_field(found, place["field"] or "password", called)


class BitwardenSecret:
    """A secret of Bitwarden's Secrets Manager, by the user's command `bws` with the token in BWS_ACCESS_TOKEN."""

    form = "bws:ID or bws:ID#FIELD"
    pattern = re.compile(r"(?P<id>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?:#(?P<field>.+))?")

    async def read(self, place: re.Match[str], environ: Mapping[str, str]) -> str:
        """Return the value of a secret, or one of its fields if the value is a JSON object."""
        called = f"Bitwarden's secret {place['id']}"
        ask = ["bws", "--output", "json", "--color", "no", "secret", "get", place["id"]]
        done = await _command(ask, ("BWS_ACCESS_TOKEN", "BWS_SERVER_URL", "BWS_CONFIG_FILE", "BWS_PROFILE"), environ)
        if done.returncode:
            status = re.search(r"\[(\d{3}) ", done.stderr)
            if status and int(status[1]) == 404:
                return ""
            away = int(status[1]) in _PASSING if status else "error sending request" in done.stderr
            why = f"HTTP {status[1]}" if status else f"exit code {done.returncode}"
            raise (Unavailable if away else InvalidUsage)(f"The command bws did not return {called} ({why}).")
        return _field(str(_json_object(done.stdout, called).get("value") or ""), place["field"], called)


VAULTS: Mapping[str, Vault] = {
    "block": PrefectBlock(),
    "keyring": Keyring(),
    "vault": HashiCorpVault(),
    "bw": BitwardenItem(),
    "bws": BitwardenSecret(),
}


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
    if value in (None, ""):
        raise InvalidUsage(f"{called} has a field {field!r} without a value.")
    return value if isinstance(value, str) else json.dumps(value)


async def _command(
    command: list[str], keys: tuple[str, ...], environ: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command of Bitwarden. The first of ``keys``, which it needs, is passed in its environment only."""
    name, needed = command[0], keys[0]
    if switched_on(environ):
        raise InvalidUsage(f"Local-only mode is on, and the server of the command {name} cannot be checked.")
    if not environ.get(needed):
        raise InvalidUsage(f"A secret from Bitwarden needs the variable {needed}, which the command {name} reads.")
    program = shutil.which(name, path=environ.get("PATH"))
    if program is None:
        raise InvalidUsage(f"A secret from Bitwarden needs the command {name}: install it.")
    try:
        return await asyncio.to_thread(
            subprocess.run,
            [program, *command[1:]],
            env={key: value for key, value in environ.items() if key in _FOR_COMMANDS or key in keys},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"The command {name} took longer than {COMMAND_TIMEOUT_S:g} s.") from None
    except OSError as error:
        raise InvalidUsage(f"The command {name} cannot be run ({error.strerror}).") from None


def _explain_bw(done: subprocess.CompletedProcess[str], called: str) -> str:
    """Return an empty text if Bitwarden does not have the item. Raises `InvalidUsage` for every other error of `bw`."""
    if done.stderr.strip().endswith("Not found."):
        return ""
    if "More than one result was found" in done.stderr:
        raise InvalidUsage(f"There are several items like {called}: name one by its id.")
    if "Vault is locked" in done.stderr or "not logged in" in done.stderr:
        raise InvalidUsage("Bitwarden is locked: set BW_SESSION to the key that `bw unlock --raw` prints.")
    raise InvalidUsage(f"The command bw did not return {called} (exit code {done.returncode}).")


def _item_field(item: Mapping[str, Any], field: str, called: str) -> str:
    """Return a field of an item: of its login, its notes, or a field that the user added."""
    login = item.get("login") or {}
    own = [one.get("value") for one in item.get("fields") or () if one.get("name") == field]
    if field in ("username", "password", "totp") and login.get(field):
        return str(login[field])
    if field == "notes" and item.get("notes"):
        return str(item["notes"])
    if len(own) != 1 or not own[0]:
        raise InvalidUsage(f"{called} has {'several fields' if len(own) > 1 else 'no field'} {field!r}.")
    return str(own[0])


def _json_object(text: str, called: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidUsage(f"The answer for {called} is not the JSON object that this version can read.")
    return found
