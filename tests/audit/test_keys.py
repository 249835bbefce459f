"""Test the signing key: created once, readable by its owner only, and with one-line errors."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from holo_tasks.audit.anchor_places import anchor_places
from holo_tasks.audit.keys import SigningKey, existing_key, key_path, make_key, replace_key, signing_key
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.cli.verify import new_key, public_pem
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.desktop.programs.environment import for_programs

ROOT = Path(__file__).parents[2]
FIRST_KEY = """
import sys
from pathlib import Path
from holo_tasks.audit.keys import signing_key
sys.stdin.readline()
print(signing_key(Path(sys.argv[1])).fingerprint)
"""


def test_the_first_run_creates_a_private_key_file(tmp_path: Path) -> None:
    assert existing_key(tmp_path, {}) is None
    key = signing_key(tmp_path, {})
    assert signing_key(tmp_path, {}).fingerprint == key.fingerprint
    assert stat.S_IMODE(key_path(tmp_path).stat().st_mode) == 0o600
    assert stat.S_IMODE(key_path(tmp_path).parent.stat().st_mode) == 0o700
    assert [path.name for path in key_path(tmp_path).parent.iterdir()] == ["signing.pem"]
    assert PublicKey(key.public_pem.encode()).fingerprint == key.fingerprint
    assert "PRIVATE" not in key.public_pem


def test_concurrent_processes_create_one_key(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FIRST_KEY, str(tmp_path / "home")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    racers = [subprocess.Popen(command, env=environment, **pipes) for _ in range(2)]  # type: ignore[call-overload]
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = {racer.communicate()[0].strip() for racer in racers}
    assert said == {signing_key(tmp_path / "home", {}).fingerprint}
    assert len(list((tmp_path / "home" / "keys").iterdir())) == 1


def test_an_existing_key_is_never_overwritten(tmp_path: Path) -> None:
    assert make_key(tmp_path)
    before = key_path(tmp_path).read_bytes()
    assert not make_key(tmp_path)
    assert key_path(tmp_path).read_bytes() == before


def test_a_replaced_key_is_backed_up(tmp_path: Path) -> None:
    old = signing_key(tmp_path, {})
    aside = replace_key(tmp_path)
    assert aside is not None
    assert signing_key(tmp_path, {}).fingerprint != old.fingerprint
    assert signing_key(tmp_path, {"HOLO_SIGNING_KEY_FILE": str(aside)}).fingerprint == old.fingerprint
    assert replace_key(tmp_path / "new") is None
    assert existing_key(tmp_path / "new", {}) is not None


@pytest.mark.parametrize("in_the_way", [b"", b"no key", SigningKey.new().private_pem()])
def test_the_only_copy_of_a_replaced_key_is_never_lost(tmp_path: Path, in_the_way: bytes) -> None:
    old = signing_key(tmp_path, {})
    taken = key_path(tmp_path).with_name(f"signing-{old.fingerprint[:16]}.pem")
    taken.write_bytes(in_the_way)
    taken.chmod(0o600)
    aside = replace_key(tmp_path)
    assert aside is not None
    assert signing_key(tmp_path, {"HOLO_SIGNING_KEY_FILE": str(aside)}).fingerprint == old.fingerprint
    assert taken.read_bytes() == in_the_way


def test_many_machines_can_share_a_key(tmp_path: Path) -> None:
    key = SigningKey.new()
    path = tmp_path / "shared.pem"
    path.write_bytes(key.private_pem())
    path.chmod(0o600)
    for given in ({"HOLO_SIGNING_KEY": key.private_pem().decode()}, {"HOLO_SIGNING_KEY_FILE": str(path)}):
        assert signing_key(tmp_path / "home", given).fingerprint == key.fingerprint
        assert not set(given) & set(for_programs(given, {})), "programs on the desktop do not inherit it"
    assert not (tmp_path / "home").exists()


def _pem(key: object, protection: object = None) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection or NoEncryption())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("pem", "mode", "words"),
    [
        (b"", 0o600, "does not hold a private key"),
        (b"canary", 0o600, "does not hold a private key"),
        (SigningKey.new().public_pem.encode(), 0o600, "does not hold a private key"),
        (_pem(generate_private_key(SECP256R1())), 0o600, "not an Ed25519 key"),
        (_pem(Ed25519PrivateKey.generate(), BestAvailableEncryption(b"x")), 0o600, "encrypted"),
        (SigningKey.new().private_pem(), 0o640, "chmod 600"),
        (SigningKey.new().private_pem(), 0o604, "chmod 600"),
    ],
)
def test_an_unusable_key_is_refused_in_one_line(tmp_path: Path, pem: bytes, mode: int, words: str) -> None:
    path = key_path(tmp_path)
    path.parent.mkdir()
    path.write_bytes(pem)
    path.chmod(mode)
    with pytest.raises(InvalidUsage, match=words) as refused:
        signing_key(tmp_path, {})
    assert "\n" not in str(refused.value)
    assert "canary" not in str(refused.value)
    assert path.read_bytes() == pem


def test_a_missing_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidUsage, match="cannot be read"):
        signing_key(tmp_path, {"HOLO_SIGNING_KEY_FILE": str(tmp_path / "none.pem")})
    with pytest.raises(InvalidUsage, match="both set"):
        signing_key(tmp_path, {"HOLO_SIGNING_KEY_FILE": "x", "HOLO_SIGNING_KEY": "y"})
    (tmp_path / "keys" / "signing.pem").mkdir(parents=True)
    with pytest.raises(InvalidUsage, match="is not a file"):
        signing_key(tmp_path, {})


@pytest.mark.parametrize(
    ("pem", "words"),
    [
        (SigningKey.new().private_pem(), "private key"),
        (b"", "does not hold a public key"),
        (b"x" * 70_000, "does not hold a public"),
    ],
)
def test_an_invalid_public_key_is_refused(tmp_path: Path, pem: bytes, words: str) -> None:
    path = tmp_path / "public.pem"
    path.write_bytes(pem)
    with pytest.raises(InvalidUsage, match=words):
        PublicKey.load(path)


def _empty(path: Path) -> None:
    path.touch(0o600)


@pytest.mark.parametrize("spoil", [_empty, lambda path: path.symlink_to("nowhere"), Path.mkdir, os.mkfifo])
def test_a_file_without_a_key_is_backed_up_and_replaced(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    path = key_path(tmp_path)
    path.parent.mkdir()
    spoil(path)
    with pytest.raises(InvalidUsage, match="keys new --replace"):  # a pipe without a writer must not block
        public_pem(tmp_path)
    with pytest.raises(InvalidUsage, match="keys new --replace"):
        new_key(tmp_path, replace=False)
    _, said = new_key(tmp_path, replace=True)
    assert "could not be used as a key" in said[0]
    assert public_pem(tmp_path)
    assert len(list(path.parent.iterdir())) == 2, "no file is deleted"


def test_an_inaccessible_path_does_not_count_as_missing(tmp_path: Path) -> None:
    """An overlong name replaces a permission error, which does not occur when tests run as root."""
    home = tmp_path / ("x" * 300)
    for ask in (public_pem, make_key, replace_key, lambda home: signing_key(home, {})):
        with pytest.raises(InvalidUsage, match="File name too long") as refused:
            ask(home)
        assert "yet" not in str(refused.value)


def test_a_read_only_disk_is_the_reported_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    make_key(tmp_path)
    for what in ("open", "link", "unlink", "rename"):
        monkeypatch.setattr(os, what, refuse)
    for ask in (make_key, replace_key):
        with pytest.raises(InvalidUsage, match="Read-only file system"):
            ask(tmp_path)


def test_a_key_can_be_created_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    key = signing_key(tmp_path, {})
    assert not make_key(tmp_path)
    aside = replace_key(tmp_path)
    assert existing_key(tmp_path, {"HOLO_SIGNING_KEY_FILE": str(aside)}).fingerprint == key.fingerprint  # type: ignore[union-attr]
    assert signing_key(tmp_path, {}).fingerprint != key.fingerprint


def test_a_containers_secret_may_be_readable_but_not_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.pem"
    path.write_bytes(SigningKey.new().private_pem())
    path.chmod(0o444)
    given = {"HOLO_SIGNING_KEY_FILE": str(path)}
    with pytest.raises(InvalidUsage, match="HOLO_SIGNING_KEY"):
        signing_key(tmp_path, given)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert signing_key(tmp_path, given)
    path.chmod(0o464)
    with pytest.raises(InvalidUsage, match="changed by other users"):
        signing_key(tmp_path, given)


def test_the_home_of_an_unknown_user_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidUsage, match="names no home folder"):
        signing_key(tmp_path, {"HOLO_SIGNING_KEY_FILE": "~nosuchuser/x"})
    with pytest.raises(InvalidUsage, match="names no home folder"):
        anchor_places(tmp_path, {"HOLO_ANCHORS": "~nosuchuser/x"})
