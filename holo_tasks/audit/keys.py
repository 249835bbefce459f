"""The key that signs traces: made once for this machine, or given so that many machines share one."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from holo_tasks.core.errors import InvalidUsage

KEY_VARIABLE, FILE_VARIABLE = "HOLO_SIGNING_KEY", "HOLO_SIGNING_KEY_FILE"
_MOST_BYTES = 65_536


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
    return _read(key_path(home), "the signing key")


def existing_key(home: Path, environ: Mapping[str, str] | None = None) -> SigningKey | None:
    """The key that `signing_key` would give, if it need not be made."""
    env = os.environ if environ is None else environ
    text, file = env.get(KEY_VARIABLE, ""), env.get(FILE_VARIABLE, "")
    if text.strip() and file.strip():
        raise InvalidUsage(f"{KEY_VARIABLE} and {FILE_VARIABLE} are both set: leave one of them out")
    if text.strip():
        return _loaded(text.encode(errors="replace"), KEY_VARIABLE)
    if file.strip():
        return _read(Path(file).expanduser(), f"the key of {FILE_VARIABLE}")
    path = key_path(home)
    return _read(path, "the signing key") if os.path.lexists(path) else None


def make_key(home: Path) -> bool:
    """Make this machine's key, at once or not at all; false if there is one already, which stays as it is."""
    path = key_path(home)
    part = _written(home, SigningKey.new())
    try:
        os.link(part, path)  # unlike a rename this never replaces a key another process has just made
    except FileExistsError:
        return False
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        part.unlink()
    _sync(path.parent)
    return True


def replace_key(home: Path) -> Path | None:
    """Put a new key in the place of this machine's; where the old one is now, if there was one."""
    path = key_path(home)
    old = _read(path, "the signing key") if os.path.lexists(path) else None
    part = _written(home, SigningKey.new())
    aside = path.with_name(f"signing-{old.fingerprint[:16]}.pem") if old else None
    try:
        if aside and not aside.exists():
            os.link(path, aside)
        part.rename(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _unwritable(path, error) from error
    _sync(path.parent)
    return aside


def _written(home: Path, key: SigningKey) -> Path:
    """Write a key beside its place; only this user can read it from its first byte on."""
    path = key_path(home)
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        home.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, key.private_pem())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _unwritable(path, error) from error
    return part


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path, what: str) -> SigningKey:
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise InvalidUsage(f"{what}, {path}, is not a file")
            if found.st_mode & 0o077:
                raise InvalidUsage(
                    f"{what}, {path}, can be read or changed by other users: run `chmod 600 {path}`, and if they may"
                    " have read it, `holo-tasks keys new --replace`"
                )
            data = file.read(_MOST_BYTES)
    except OSError as error:
        raise InvalidUsage(f"{what}, {path}, cannot be read: {error.strerror}") from error
    return _loaded(data, str(path))


def _loaded(pem: bytes, where: str) -> SigningKey:
    try:
        private = load_pem_private_key(pem, password=None)
    except TypeError:
        raise InvalidUsage(f"the signing key in {where} is encrypted: give it without a password") from None
    except (ValueError, UnsupportedAlgorithm):
        # What the parser says could hold pieces of the key.
        raise InvalidUsage(f"{where} holds no private key in PEM: `holo-tasks keys new` makes one") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise InvalidUsage(f"the signing key in {where} is not an Ed25519 key: `holo-tasks keys new` makes one")
    return SigningKey(private)


def _unwritable(path: Path, error: OSError) -> InvalidUsage:
    return InvalidUsage(
        f"the signing key cannot be written to {path}: {error.strerror}; set HOLO_HOME, or {FILE_VARIABLE} to a key"
    )
