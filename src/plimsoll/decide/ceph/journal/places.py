"""Where Plimsoll keeps what ceph-csi has no word for, and who an image belongs to.

Beside the key of a request the directory has one while its image is being made, and one for each
attempt that was given up and whose pieces may still be there. For each image that is made it has a
record, and while a node writes to the image, who that is. ceph-csi reads none of them. They are in
the directory so that they change together with the key of the request, and can be read while the
zone of the image is down.
"""

from dataclasses import dataclass, field

from plimsoll.decide.ceph.journal.layout import (
    NO_POOL,
    CephPoolRef,
    DirectoryEntry,
    ImageAttributes,
    JournalLayout,
)
from plimsoll.decide.ceph.journal.operations import RadosObject
from plimsoll.decide.ceph.volume_ids import parse_pool_id, pool_id_digits

MAKING = "plimsoll.making."
LEFTOVER = "plimsoll.leftover."
RECORD = "plimsoll.record."
WRITER = "plimsoll.writer."


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePlace:
    pool: CephPoolRef
    uuid: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CephJournal:
    """One fixed pool, whichever pools the images are in."""

    pool: CephPoolRef
    layout: JournalLayout = field(default_factory=JournalLayout)
    older: tuple[CephPoolRef, ...] = ()
    """Pools where ceph-csi kept a journal: it has one in the pool of each zone."""

    @property
    def directory(self) -> RadosObject:
        return self.layout.directory(self.pool.name)

    def image_object(self, place: ImagePlace) -> RadosObject:
        return self.layout.image_object(place.pool.name, place.uuid)

    def entry(self, place: ImagePlace) -> DirectoryEntry:
        pool_id = None if place.pool.id == self.pool.id else place.pool.id
        return DirectoryEntry(place.uuid, pool_id)

    def making(self, place: ImagePlace) -> str:
        """Tells the name too: the class may have another prefix by the time it is needed."""
        return f"{self.entry(place).text} {place.name}"

    def pool_id(self, entry: DirectoryEntry) -> int:
        return self.pool.id if entry.pool_id is None else entry.pool_id

    def leftover_key(self, entry: DirectoryEntry) -> str:
        return LEFTOVER + self._own(entry)

    def record_key(self, place: ImagePlace) -> str:
        return RECORD + self._own(self.entry(place))

    def writer_key(self, place: ImagePlace) -> str:
        return WRITER + self._own(self.entry(place))

    def _own(self, entry: DirectoryEntry) -> str:
        return f"{pool_id_digits(self.pool_id(entry))}/{entry.uuid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRequest:
    request_name: str
    pool: CephPoolRef
    """Where a new image goes."""
    uuid: str
    """Of a new image; never one that was given out before."""
    acceptable: frozenset[int] = frozenset()
    """Ids of further pools where an attempt that was interrupted may be finished."""
    may_resume: bool = True
    """Whether an attempt that was interrupted may be finished at all; else it is given up. What two
    calls make must come out the same, however their steps mix: an empty image does, a copy does
    not."""
    name_prefix: str = ""
    source: str = ""
    owner: str = ""

    def may_resume_in(self, pool_id: int) -> bool:
        return self.may_resume and (pool_id == self.pool.id or pool_id in self.acceptable)


def making_key(request_name: str) -> str:
    return MAKING + request_name


def parse_leftover(key: str) -> DirectoryEntry:
    """Raises ValueError for a key that is none of ours."""
    pool_id, _, uuid = key.removeprefix(LEFTOVER).partition("/")
    return DirectoryEntry(uuid, parse_pool_id(pool_id))


def new_place(journal: CephJournal, request: ImageRequest) -> ImagePlace:
    prefix = request.name_prefix or journal.layout.default_prefix
    return ImagePlace(pool=request.pool, uuid=request.uuid, name=prefix + request.uuid)


def new_attributes(
    journal: CephJournal, request: ImageRequest, place: ImagePlace
) -> ImageAttributes:
    is_elsewhere = place.pool.id != journal.pool.id
    return ImageAttributes(
        request_name=request.request_name,
        image_name=place.name,
        source=request.source,
        owner=request.owner,
        journal_pool_id=journal.pool.id if is_elsewhere else NO_POOL,
    )
