"""Names of the journal's objects and keys, as ceph-csi has them.

One directory in the journal pool has a key for each request, whose value leads to an image. One
object for each image, in the pool of the image, leads back and keeps what else must be remembered.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from plimsoll.decide.ceph.journal.operations import RadosObject
from plimsoll.decide.ceph.volume_ids import UUID_BYTES, parse_pool_id, pool_id_digits

NO_POOL = -1

IMAGE_NAME, IMAGE_ID = "csi.imagename", "csi.imageid"
JOURNAL_POOL, GROUP_ID, SOURCE = "csi.journalpool", "csi.groupid", "csi.source"
KMS, ENCRYPTION = "csi.volume.encryptKMS", "csi.volume.encryptionType"
OWNER, BACKING_SNAPSHOT = "csi.volume.owner", "csi.volume.backingsnapshotid"

ENCRYPTIONS = frozenset({"", "block", "file"})
INVALID_ENCRYPTION = "INVALID"


class JournalKind(StrEnum):
    VOLUME = "volume"
    SNAPSHOT = "snapshot"


class CephPoolRef(NamedTuple):
    name: str
    id: int = NO_POOL


class DirectoryEntry(NamedTuple):
    """What a request leads to."""

    uuid: str
    pool_id: int | None = None
    """None: the image is in the pool of the journal."""

    @property
    def text(self) -> str:
        return self.uuid if self.pool_id is None else f"{pool_id_digits(self.pool_id)}/{self.uuid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageAttributes:
    request_name: str = ""
    image_name: str = ""
    image_id: str = ""
    source: str = ""
    """Of a snapshot: the image that it was taken of."""
    journal_pool_id: int = NO_POOL
    kms_id: str = ""
    encryption: str = ""
    owner: str = ""
    group_id: str = ""
    backing_snapshot_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalLayout:
    kind: JournalKind = JournalKind.VOLUME
    instance: str = "default"
    """Of the driver: several can share a pool."""
    namespace: str = ""

    @property
    def _word(self) -> str:
        return "csi.snap" if self.kind is JournalKind.SNAPSHOT else "csi.volume"

    @property
    def name_key(self) -> str:
        """In the object of an image: the request that it belongs to."""
        return "csi.snapname" if self.kind is JournalKind.SNAPSHOT else "csi.volname"

    @property
    def default_prefix(self) -> str:
        return "csi-snap-" if self.kind is JournalKind.SNAPSHOT else "csi-vol-"

    @property
    def attribute_keys(self) -> tuple[str, ...]:
        every = IMAGE_NAME, IMAGE_ID, JOURNAL_POOL, KMS, ENCRYPTION, OWNER
        special = SOURCE if self.kind is JournalKind.SNAPSHOT else GROUP_ID
        return (self.name_key, *every, special, BACKING_SNAPSHOT)

    def request_key(self, request_name: str) -> str:
        return f"{self._word}.{request_name}"

    def directory(self, pool: str) -> RadosObject:
        return self._object(pool, f"{self._word}s.{self.instance}")

    def image_object(self, pool: str, uuid: str) -> RadosObject:
        return self._object(pool, f"{self._word}.{uuid}")

    def _object(self, pool: str, name: str) -> RadosObject:
        return RadosObject(pool=pool, name=name, namespace=self.namespace)


def parse_entry(text: str) -> DirectoryEntry:
    """Raises ValueError. What follows a second slash is ignored, as ceph-csi does."""
    if len(text.encode()) == UUID_BYTES:
        return DirectoryEntry(text)
    pool_id, slash, rest = text.partition("/")
    if not slash:
        raise ValueError(f"{text!r} leads to no image")
    return DirectoryEntry(rest.partition("/")[0], parse_pool_id(pool_id))


def parse_attributes(
    layout: JournalLayout, values: Mapping[str, str], *, default_name: str
) -> ImageAttributes:
    """Raises ValueError for a pool id that is none. The name of the image was not always kept."""
    pool_digits = values.get(JOURNAL_POOL)
    encryption = values.get(ENCRYPTION, "")
    return ImageAttributes(
        request_name=values.get(layout.name_key, ""),
        image_name=values.get(IMAGE_NAME, default_name),
        image_id=values.get(IMAGE_ID, ""),
        source=values.get(SOURCE, ""),
        journal_pool_id=NO_POOL if pool_digits is None else parse_pool_id(pool_digits),
        kms_id=values.get(KMS, ""),
        encryption=encryption if encryption in ENCRYPTIONS else INVALID_ENCRYPTION,
        owner=values.get(OWNER, ""),
        group_id=values.get(GROUP_ID, ""),
        backing_snapshot_id=values.get(BACKING_SNAPSHOT, ""),
    )


def attribute_values(layout: JournalLayout, attributes: ImageAttributes) -> dict[str, str]:
    """The keys and values that are written; what is not known is left out."""
    known = {
        layout.name_key: attributes.request_name,
        IMAGE_NAME: attributes.image_name,
        IMAGE_ID: attributes.image_id,
        SOURCE: attributes.source,
        KMS: attributes.kms_id,
        OWNER: attributes.owner,
        GROUP_ID: attributes.group_id,
        BACKING_SNAPSHOT: attributes.backing_snapshot_id,
    }
    if attributes.journal_pool_id != NO_POOL:
        known[JOURNAL_POOL] = pool_id_digits(attributes.journal_pool_id)
    values = {key: value for key, value in known.items() if value}
    return values | ({ENCRYPTION: attributes.encryption} if attributes.kms_id else {})
