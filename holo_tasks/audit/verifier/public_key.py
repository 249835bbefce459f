"""Check signatures with an Ed25519 public key. The person who checks supplies the key; it never comes from the
trace."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from cryptography.exceptions import InternalError, InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from holo_tasks.core.errors import InvalidUsage

# "signature" sorts last in canonical form, and hexadecimal digits have one form only.
_SIGNED = re.compile(rb'(\{.*),"signature":"([0-9a-f]{128})"\}', re.DOTALL)


class PublicKey:
    """An Ed25519 public key. ``fingerprint`` is the SHA-256 of its SubjectPublicKeyInfo (DER)."""

    def __init__(self, pem: bytes, where: str = "the public key") -> None:
        if b"PRIVATE KEY" in pem:
            raise InvalidUsage(f"{where} holds a private key: give the public key, as `holo-tasks keys show` prints it")
        try:
            key = load_pem_public_key(pem)
        except (ValueError, UnsupportedAlgorithm, InternalError):
            raise InvalidUsage(
                f"{where} does not hold a public key in PEM: give the output of `holo-tasks keys show` on the "
                "machine that recorded the trace"
            ) from None
        if not isinstance(key, Ed25519PublicKey):
            raise InvalidUsage(f"the key in {where} is not an Ed25519 key")
        self._key = key
        self.fingerprint = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()

    @classmethod
    def load(cls, path: Path) -> PublicKey:
        try:
            with path.open("rb") as file:
                return cls(file.read(65_536), str(path))
        except OSError as error:
            raise InvalidUsage(f"the public key {path} cannot be read: {error.strerror}") from error

    def has_signed(self, line: bytes) -> bool:
        """Return whether a line ends with this key's signature of the bytes before it."""
        found = _SIGNED.fullmatch(line)
        if not found:
            return False
        try:
            self._key.verify(bytes.fromhex(found[2].decode()), found[1] + b"}")
        except InvalidSignature:
            return False
        return True
