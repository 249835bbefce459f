"""The key that signs traces: made once for this machine, or given so that many machines share one."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import InternalError, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.paths import expanded
from holo_tasks.machine.private import open_private, private_folder

KEY_VARIABLE, FILE_VARIABLE = "HOLO_SIGNING_KEY", "HOLO_SIGNING_KEY_FILE"
UNUSABLE = "signing-unusable-"
"""How the name of a file begins that was in the place of the key and was none."""
_MOST_BYTES = 65_536
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK)
_OURS = "`holo-tasks keys new --replace` makes another one and keeps this file aside"
_GIVEN = f"give a private Ed25519 key in PEM, or unset {KEY_VARIABLE} and {FILE_VARIABLE}"


class SigningKey:
    """An Ed25519 private key; nothing shows it but `private_pem`."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        public = private.public_key()
        self.public_pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        self.fingerprint = hashlib.sha256(
            public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        ).hexdigest()

    @classmethod
    def new(cls) -> SigningKey:
        return cls(Ed25519PrivateKey.generate())

    def sign(self, data: bytes) -> str:
        """The signature of some bytes, as 128 hexadecimal digits."""
        return self._private.sign(data).hex()

    def private_pem(self) -> bytes:
        """The private key as PKCS #8 PEM, not encrypted."""
        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def key_path(home: Path) -> Path:
    """Where the private key of this machine is."""
    return home.absolute() / "keys" / "signing.pem"


def signing_key(home: Path, environ: Mapping[str, str] | None = None) -> SigningKey:
    """The key to sign with: from the environment, else this machine's own, which is made if there is none yet."""
    found = existing_key(home, environ)
    if found is not None:
        return found
    make_key(home)  # another process may be first: then its key is the one
    return _read(key_path(home))


def existing_key(home: Path, environ: Mapping[str, str] | None = None) -> SigningKey | None:
    """The key that `signing_key` would give, if it need not be made."""
    env = os.environ if environ is None else environ
    text, file = env.get(KEY_VARIABLE, ""), env.get(FILE_VARIABLE, "")
    if text.strip() and file.strip():
        raise InvalidUsage(f"{KEY_VARIABLE} and {FILE_VARIABLE} are both set: leave one of them out")
    if text.strip():
        return _loaded(text.encode(errors="replace"), KEY_VARIABLE, _GIVEN)
    if file.strip():
        return _read(expanded(file), given=True)
    path = key_path(home)
    return _read(path) if _there(path) else None


def make_key(home: Path) -> bool:
    """Make this machine's key, at once or not at all; false if there is one already, which stays as it is."""
    path = key_path(home)
    key = SigningKey.new()
    part = _written(home, key)
    try:
        _linked(part, path, key)
    except FileExistsError:
        return False
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        _removed(part)
    _sync(path.parent)
    return True


def replace_key(home: Path) -> Path | None:
    """Put a new key in the place of this machine's; where the old one is now, if there was one, usable or not."""
    path = key_path(home)
    aside, usable = None, True
    if _there(path):
        try:
            aside = _place_aside(path)
        except InvalidUsage:
            aside, usable = path.with_name(f"{UNUSABLE}{secrets.token_hex(8)}.pem"), False
    part = _written(home, SigningKey.new())
    try:
        if aside and not usable:
            path.rename(aside)  # it may be a link to nowhere, or a folder
        elif aside and not aside.exists():
            _kept(path, aside)
        part.rename(path)
    except OSError as error:
        _removed(part)
        raise _unwritable(path, error) from error
    _sync(path.parent)
    return aside


def _place_aside(path: Path) -> Path:
    """Name a place for a key that is replaced: one that is free, or has this very key in it already."""
    key = _read(path)
    aside = path.with_name(f"signing-{key.fingerprint[:16]}.pem")
    with contextlib.suppress(InvalidUsage):
        if not _there(aside) or _read(aside).fingerprint == key.fingerprint:
            return aside
    return aside.with_name(f"{aside.stem}-{secrets.token_hex(4)}.pem")


def _there(path: Path) -> bool:
    """Whether there is anything in the place of the key; a place that cannot be looked at is not taken to be empty."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise InvalidUsage(
            f"the signing key, {path}, cannot be looked for: {error.strerror}; set HOLO_HOME, or {FILE_VARIABLE} to a"
            " key"
        ) from error
    return True


def _linked(part: Path, path: Path, key: SigningKey) -> None:
    """Give a key its place; unlike a rename this never replaces a key another process has just made."""
    try:
        os.link(part, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _write(path, key)


def _kept(path: Path, aside: Path) -> None:
    """Keep a key under a second name, so that at no time there is none."""
    try:
        os.link(path, aside)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        path.rename(aside)


def _removed(part: Path) -> None:
    with contextlib.suppress(OSError):  # what was in the way before is what has to be told
        part.unlink(missing_ok=True)


def _write(path: Path, key: SigningKey) -> None:
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        os.write(descriptor, key.private_pem())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _written(home: Path, key: SigningKey) -> Path:
    """Write a key beside its place; only this user can read it from its first byte on."""
    path = key_path(home)
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        private_folder(home, path.parent.name)
        _write(part, key)
    except OSError as error:
        _removed(part)
        raise _unwritable(path, error) from error
    return part


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path, *, given: bool = False) -> SigningKey:
    """The key in a file: this machine's own, or one that is given."""
    what, remedy = (f"the key of {FILE_VARIABLE}", _GIVEN) if given else ("the signing key", _OURS)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would wait for its writer
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise InvalidUsage(f"{what}, {path}, is not a file: {remedy}")
            if _open_to_others(found, given=given):
                more = f", or give the key in {KEY_VARIABLE}" if given else f"; if they may have read it, {_OURS}"
                raise InvalidUsage(
                    f"{what}, {path}, can be read or changed by other users: run `chmod 600 {path}`{more}"
                )
            data = os.read(descriptor, _MOST_BYTES)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InvalidUsage(f"{what}, {path}, cannot be read: {error.strerror}; {remedy}") from error
    return _loaded(data, str(path), remedy)


def _open_to_others(found: os.stat_result, *, given: bool) -> bool:
    """Whether others than its owner can use a file. A container's secret is another user's, who lets us read it."""
    if given and found.st_uid != os.geteuid():
        return bool(found.st_mode & 0o022)
    return bool(found.st_mode & 0o077)


def _loaded(pem: bytes, where: str, remedy: str) -> SigningKey:
    try:
        private = load_pem_private_key(pem, password=None)
    except TypeError:
        raise InvalidUsage(
            f"the signing key in {where} is encrypted, and nobody is asked for its password: {remedy}"
        ) from None
    except (ValueError, UnsupportedAlgorithm, InternalError):
        # What the parser says could hold pieces of the key.
        raise InvalidUsage(f"{where} holds no private key in PEM: {remedy}") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise InvalidUsage(f"the signing key in {where} is not an Ed25519 key: {remedy}")
    return SigningKey(private)


def _unwritable(path: Path, error: OSError) -> InvalidUsage:
    return InvalidUsage(
        f"the signing key cannot be written to {path}: {error.strerror}; set HOLO_HOME, or {FILE_VARIABLE} to a key"
    )
