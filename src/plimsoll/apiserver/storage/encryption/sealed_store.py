"""A store whose file holds the documents of some resources encrypted.

Each document is sealed with AES-256-GCM under a fresh nonce, together with its resource, key and
revision: none can be put in the place of another. What was written with another key is sealed anew
when the server starts, after all of it could be read; then the file is written anew as well, so
that no page of it keeps what was deleted.

A document that should be sealed and is not is refused: it may be from before there was a key, or
from an attacker who can write to the file without a key. Nothing in the file can tell the two
apart, because who can add a document can take away any mark. Only the key file can, by `identity`.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag

from plimsoll.apiserver.storage.encryption.keys import PLAIN, KeyRing, StorageKey
from plimsoll.apiserver.storage.sqlite_file import beside
from plimsoll.apiserver.storage.sqlite_store import SqliteStore
from plimsoll.apiserver.storage.store import LogRow, StoreCorruptError, StoreInFront

MAGIC = b"\0plimsoll sealed 1\0"
"""No document begins so."""
NAME_BYTES, NONCE_BYTES = 8, 12
HEAD = len(MAGIC) + NAME_BYTES
FLAG = "--encryption-key-file"


class EncryptionKeyError(StoreCorruptError):
    """A document cannot be read with the keys that there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encryption:
    """Of which resources, by collection: `secrets`, `leases.coordination.k8s.io`."""

    ring: KeyRing = field(default_factory=KeyRing)
    resources: frozenset[str] = frozenset({"secrets"})

    def key_for(self, resource: str) -> StorageKey | None:
        return self.ring.first if resource in self.resources else None

    @property
    def reads_what_it_would_seal(self) -> bool:
        return self.ring.first is not None and self.ring.reads_plain

    def refuses_plain(self, resource: str) -> bool:
        return self.key_for(resource) is not None and not self.ring.reads_plain

    @property
    def description(self) -> str:
        """What the file was last written with, as far as it may be known."""
        first = self.ring.first
        return f"{first.name.hex()} {' '.join(sorted(self.resources))}" if first else "identity"


class SealedStore(StoreInFront):
    """Call `prepare` before anything else."""

    def __init__(self, store: SqliteStore, encryption: Encryption, path: Path) -> None:
        super().__init__(store)
        self._store = store
        self._encryption = encryption
        self._path = path
        self._mark = beside(path, ".sealed")

    def prepare(self) -> None:
        """Seal what is not sealed as it should be. Raises EncryptionKeyError before any change."""
        if not self._encryption.ring.keys:
            return
        changed = [row for row in self._store.load() if not self._is_sealed_well(row)]
        sealed = [self._sealed(self._opened(row)) for row in changed]
        wanted = self._encryption.description
        if not sealed and self._mark.exists() and self._mark.read_text() == wanted:
            return
        # Gone first: whatever interrupts what follows, the next start does it again.
        self._mark.unlink(missing_ok=True)
        if sealed:
            self._store.rewrite(sealed)
        self._store.write_anew()
        self._mark.touch(mode=0o600)
        self._mark.write_text(wanted)

    def _is_sealed_well(self, row: LogRow) -> bool:
        """And can be opened. Raises EncryptionKeyError."""
        if row.document is None:
            return True
        key = self._encryption.key_for(row.resource)
        held = self._key_of(row)
        self._opened(row)
        return held is key

    def _key_of(self, row: LogRow) -> StorageKey | None:
        """None: the document is not sealed."""
        if row.document is None or not row.document.startswith(MAGIC):
            return None
        name = row.document[len(MAGIC) : HEAD]
        key = self._encryption.ring.find(name)
        if key is None:
            given = f"is not in the file of {FLAG}" if self._encryption.ring.keys else "is missing"
            raise EncryptionKeyError(
                f"{self._path}: {row.resource} {row.key} is encrypted with the key {name.hex()}, "
                f"which {given}; nothing was changed: start with {FLAG} and a file that has it"
            )
        return key

    def _opened(self, row: LogRow) -> LogRow:
        key = self._key_of(row)
        if row.document is None:
            return row
        if key is None:
            self._check_plain(row)
            return row
        nonce, sealed = row.document[HEAD : HEAD + NONCE_BYTES], row.document[HEAD + NONCE_BYTES :]
        try:
            document = key.cipher.decrypt(nonce, sealed, _about(row))
        except InvalidTag as error:
            raise EncryptionKeyError(
                f"{self._path}: {row.resource} {row.key} at revision {row.revision} was changed or "
                "put there from another place; restore a backup with `plimsoll apiserver restore`"
            ) from error
        return LogRow(row.revision, row.resource, row.key, document)

    def _check_plain(self, row: LogRow) -> None:
        if self._encryption.refuses_plain(row.resource):
            raise EncryptionKeyError(
                f"{self._path}: {row.resource} {row.key} at revision {row.revision} is not "
                "encrypted: it was written before there was a key, or by a user without one; "
                f"nothing was changed. If all of the file is yours, put the line {PLAIN} below the "
                f"keys in the file of {FLAG} for one start, which encrypts it; else restore a "
                "backup with `plimsoll apiserver restore`"
            )

    def _sealed(self, row: LogRow) -> LogRow:
        key = self._encryption.key_for(row.resource)
        if key is None or row.document is None:
            return row
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = key.cipher.encrypt(nonce, row.document, _about(row))
        document = MAGIC + key.name + nonce + sealed
        return LogRow(row.revision, row.resource, row.key, document)

    def load(self) -> Iterator[LogRow]:
        return map(self._opened, super().load())

    def append(self, rows: Sequence[LogRow]) -> None:
        super().append([self._sealed(row) for row in rows])


def _about(row: LogRow) -> bytes:
    return f"{row.resource}\0{row.key}\0{row.revision}".encode()
