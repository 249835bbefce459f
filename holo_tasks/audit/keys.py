"""Manage the Ed25519 key that signs traces: created once for a machine, or given so that several machines share it.

`signing_key` returns the key to sign with. `holo-tasks keys` creates and replaces keys.
"""

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
"""Prefix of the backup name of a file that was in the key's place but held no usable key."""
_MAX_BYTES = 65_536
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK)
_OWN_KEY_REMEDY = "`holo-tasks keys new --replace` creates a new key and keeps this file under another name"
_GIVEN_KEY_REMEDY = f"give a private Ed25519 key in PEM, or unset {KEY_VARIABLE} and {FILE_VARIABLE}"


class SigningKey:
    """An Ed25519 private key. Only `private_pem` reveals it."""

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
        """Return the signature of ``data`` as 128 hexadecimal digits."""
        return self._private.sign(data).hex()

    def private_pem(self) -> bytes:
        """Return the private key as unencrypted PKCS #8 PEM."""
        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def key_path(home: Path) -> Path:
    """Return the path of this machine's private key."""
    return home.absolute() / "keys" / "signing.pem"


def signing_key(home: Path, environ: Mapping[str, str] | None = None) -> SigningKey:
    """Return the key from the environment, else this machine's own key. Creates the latter if needed.

    Raises `InvalidUsage` if the key cannot be read, used or created.
    """
    found = existing_key(home, environ)
    if found is not None:
        return found
    make_key(home)  # another process may create one first; its key is then used
    return _read(key_path(home))


def existing_key(home: Path, environ: Mapping[str, str] | None = None) -> SigningKey | None:
    """Return the key that `signing_key` would return, or ``None`` if it would have to be created.

    Raises `InvalidUsage` if the key cannot be read or used.
    """
    env = os.environ if environ is None else environ
    text, file = env.get(KEY_VARIABLE, ""), env.get(FILE_VARIABLE, "")
    if text.strip() and file.strip():
        raise InvalidUsage(f"{KEY_VARIABLE} and {FILE_VARIABLE} are both set: leave one of them out")
    if text.strip():
        return _load(text.encode(errors="replace"), KEY_VARIABLE, _GIVEN_KEY_REMEDY)
    if file.strip():
        return _read(expanded(file), given=True)
    path = key_path(home)
    return _read(path) if _exists(path) else None


def make_key(home: Path) -> bool:
    """Create this machine's key atomically. Return false, and change nothing, if there is one already."""
    path = key_path(home)
    key = SigningKey.new()
    part = _write_part(home, key)
    try:
        _link(part, path, key)
    except FileExistsError:
        return False
    except OSError as error:
        raise _write_error(path, error) from error
    finally:
        _remove(part)
    _sync(path.parent)
    return True


def replace_key(home: Path) -> Path | None:
    """Replace this machine's key with a new one. Return the path of the old file's backup, or ``None`` without an old
    file.

    An old file that holds no usable key is backed up as well.
    """
    path = key_path(home)
    backup, usable = None, True
    if _exists(path):
        try:
            backup = _backup_path(path)
        except InvalidUsage:
            backup, usable = path.with_name(f"{UNUSABLE}{secrets.token_hex(8)}.pem"), False
    part = _write_part(home, SigningKey.new())
    try:
        if backup and not usable:
            path.rename(backup)  # the path may be a broken link or a folder
        elif backup and not backup.exists():
            _link_backup(path, backup)
        part.rename(path)
    except OSError as error:
        _remove(part)
        raise _write_error(path, error) from error
    _sync(path.parent)
    return backup


def _backup_path(path: Path) -> Path:
    """Return where to back up a key that is replaced: a free name, or the name that already holds this very key."""
    key = _read(path)
    backup = path.with_name(f"signing-{key.fingerprint[:16]}.pem")
    with contextlib.suppress(InvalidUsage):
        if not _exists(backup) or _read(backup).fingerprint == key.fingerprint:
            return backup
    return backup.with_name(f"{backup.stem}-{secrets.token_hex(4)}.pem")


def _exists(path: Path) -> bool:
    """Return whether the key's path exists. Raises `InvalidUsage` if that cannot be determined."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise InvalidUsage(
            f"the signing key, {path}, cannot be accessed: {error.strerror}; set HOLO_HOME, or {FILE_VARIABLE} to a key"
        ) from error
    return True


def _link(part: Path, path: Path, key: SigningKey) -> None:
    """Link a key file to its final path. Unlike a rename, this never replaces a key of another process."""
    try:
        os.link(part, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _write(path, key)


def _link_backup(path: Path, backup: Path) -> None:
    """Give the old key a second name, so that there is a key at every moment."""
    try:
        os.link(path, backup)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        path.rename(backup)


def _remove(part: Path) -> None:
    with contextlib.suppress(OSError):  # keep the original error
        part.unlink(missing_ok=True)


def _write(path: Path, key: SigningKey) -> None:
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        os.write(descriptor, key.private_pem())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_part(home: Path, key: SigningKey) -> Path:
    """Write a key to a temporary file next to its final path, readable by this user only."""
    path = key_path(home)
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        private_folder(home, path.parent.name)
        _write(part, key)
    except OSError as error:
        _remove(part)
        raise _write_error(path, error) from error
    return part


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path, *, given: bool = False) -> SigningKey:
    """Return the key in a file: this machine's own, or the ``given`` one. Raises `InvalidUsage`."""
    name, remedy = (f"the key of {FILE_VARIABLE}", _GIVEN_KEY_REMEDY) if given else ("the signing key", _OWN_KEY_REMEDY)
    try:
        # Opening a pipe would block until it has a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise InvalidUsage(f"{name}, {path}, is not a file: {remedy}")
            if _is_exposed(found, given=given):
                more = (
                    f", or give the key in {KEY_VARIABLE}"
                    if given
                    else f"; if they may have read it, {_OWN_KEY_REMEDY}"
                )
                raise InvalidUsage(
                    f"{name}, {path}, can be read or changed by other users: run `chmod 600 {path}`{more}"
                )
            data = os.read(descriptor, _MAX_BYTES)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InvalidUsage(f"{name}, {path}, cannot be read: {error.strerror}; {remedy}") from error
    return _load(data, str(path), remedy)


def _is_exposed(found: os.stat_result, *, given: bool) -> bool:
    """Return whether other users can read or change a key file.

    A ``given`` file of another user, such as a container's secret, only must not be writable for others.
    """
    if given and found.st_uid != os.geteuid():
        return bool(found.st_mode & 0o022)
    return bool(found.st_mode & 0o077)


def _load(pem: bytes, where: str, remedy: str) -> SigningKey:
    try:
        private = load_pem_private_key(pem, password=None)
    except TypeError:
        raise InvalidUsage(f"the signing key in {where} is encrypted, and no password can be given: {remedy}") from None
    except (ValueError, UnsupportedAlgorithm, InternalError):
        # The parser's message may contain parts of the key.
        raise InvalidUsage(f"{where} does not hold a private key in PEM: {remedy}") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise InvalidUsage(f"the signing key in {where} is not an Ed25519 key: {remedy}")
    return SigningKey(private)


def _write_error(path: Path, error: OSError) -> InvalidUsage:
    return InvalidUsage(
        f"the signing key cannot be written to {path}: {error.strerror}; set HOLO_HOME, or {FILE_VARIABLE} to a key"
    )
