"""Keys from a file: the first one writes, all of them read.

A line is a key of 32 bytes in base64, or the word `identity`, which stands for no encryption; empty
lines and those that begin with # say nothing. To change the key, put a new one above the old one;
after the next start nothing is left that needs the old one. What is not encrypted is read only
where `identity` is a line of the file, first or not, as kube-apiserver wants it.
"""

import base64
import binascii
import hashlib
import stat
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
PLAIN = "identity"
MAKE_ONE = "head -c 32 /dev/urandom | base64"


class StorageKey:
    """One AES-256-GCM key. It shows nothing of itself but its name, which is a hash."""

    def __init__(self, secret: bytes) -> None:
        self.name = hashlib.sha256(b"plimsoll key name\0" + secret).digest()[:8]
        self.cipher = AESGCM(secret)

    def __repr__(self) -> str:
        return f"StorageKey({self.name.hex()})"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRing:
    first: StorageKey | None = None
    """None: documents are written as they are."""
    keys: tuple[StorageKey, ...] = ()
    reads_plain: bool = False
    """Documents that should be encrypted and are not are read all the same, and encrypted."""

    def find(self, name: bytes) -> StorageKey | None:
        return next((key for key in self.keys if key.name == name), None)


def read_keys(path: Path) -> KeyRing:
    """Raises ValueError, with the remedy and without the content."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        lines = path.read_text("ascii").splitlines()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; make one with `{MAKE_ONE}`") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not text; a key is made with `{MAKE_ONE}`") from error
    if mode & 0o077:
        raise ValueError(f"{path}: other users can use it (mode {mode:04o}); run chmod 600 {path}")
    words = [(number, line.strip()) for number, line in enumerate(lines, 1)]
    return parse_keys([(n, word) for n, word in words if word and word[0] != "#"], str(path))


def parse_keys(words: list[tuple[int, str]], source: str) -> KeyRing:
    """Of lines with their numbers. Raises ValueError."""
    if not words:
        raise ValueError(f"{source}: there is no key in it; make one with `{MAKE_ONE}`")
    keys = [None if word == PLAIN else _key(number, word, source) for number, word in words]
    held = tuple(key for key in keys if key is not None)
    return KeyRing(first=keys[0], keys=held, reads_plain=None in keys)


def _key(number: int, word: str, source: str) -> StorageKey:
    try:
        secret = base64.b64decode(word, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{source}, line {number}: not base64; use `{MAKE_ONE}`") from error
    if len(secret) != KEY_BYTES:
        wrong = f"{len(secret)} bytes, a key has {KEY_BYTES}"
        raise ValueError(f"{source}, line {number}: {wrong}; use `{MAKE_ONE}`")
    return StorageKey(secret)
