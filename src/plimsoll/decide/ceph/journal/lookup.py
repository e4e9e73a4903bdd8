"""Reading the journal: what a request leads to, and what is known of an image."""

from dataclasses import dataclass, replace

from plimsoll.decide.ceph.journal.layout import (
    NO_POOL,
    CephPoolRef,
    DirectoryEntry,
    ImageAttributes,
    parse_attributes,
    parse_entry,
)
from plimsoll.decide.ceph.journal.operations import (
    PROBLEMS,
    FindPoolName,
    JournalProblem,
    RadosProblem,
    RadosSteps,
    ReadKeys,
)
from plimsoll.decide.ceph.journal.places import CephJournal, making_key

ABSENT = frozenset({RadosProblem.NOT_FOUND, RadosProblem.POOL_NOT_FOUND})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestState:
    """The keys of a request in the directory, as texts; empty: not there."""

    entry: str = ""
    making: str = ""

    @property
    def is_being_made(self) -> bool:
        """Not if the entry was replaced by a driver that does not know of the other key."""
        return bool(self.entry) and self.making.partition(" ")[0] == self.entry

    @property
    def image_name(self) -> str:
        return self.making.partition(" ")[2]

    @property
    def known_entry(self) -> DirectoryEntry | None:
        """Where the request leads, if its image is made."""
        try:
            return parse_entry(self.entry) if self.entry and not self.is_being_made else None
        except ValueError:
            return None

    def leads_to(self, uuid: str) -> bool:
        try:
            return bool(self.entry) and parse_entry(self.entry).uuid == uuid
        except ValueError:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAttributes:
    attributes: ImageAttributes
    pool: str
    """Of the object that has them."""


def read_request(
    journal: CephJournal, request_name: str
) -> RadosSteps[RequestState | JournalProblem]:
    keys = journal.layout.request_key(request_name), making_key(request_name)
    answer = yield ReadKeys(object=journal.directory, keys=keys)
    if answer.problem is RadosProblem.NOT_FOUND:
        return RequestState()
    if answer.problem:
        return PROBLEMS[answer.problem]
    entry, making = (answer.values.get(key, "") for key in keys)
    return RequestState(entry=entry, making=making)


def find_pool(
    journal: CephJournal, entry: DirectoryEntry
) -> RadosSteps[CephPoolRef | JournalProblem | None]:
    """The pool of an image; None: it was deleted, and all images with it."""
    if entry.pool_id is None:
        return journal.pool
    answer = yield FindPoolName(pool_id=entry.pool_id)
    if answer.problem in ABSENT:
        return None
    return PROBLEMS[answer.problem] if answer.problem else CephPoolRef(answer.pool, entry.pool_id)


def find_attributes(
    journal: CephJournal, pool: str, uuid: str
) -> RadosSteps[FoundAttributes | JournalProblem | None]:
    """With the image, or where ceph-csi once wrote them: in the pool of the journal."""
    others = (older.name for older in (journal.pool, *journal.older))
    for place in dict.fromkeys((pool, *others)):
        object_ = journal.layout.image_object(place, uuid)
        answer = yield ReadKeys(object=object_, keys=journal.layout.attribute_keys)
        if answer.problem and answer.problem not in ABSENT:
            return PROBLEMS[answer.problem]
        if journal.layout.name_key in answer.values:
            name = journal.layout.default_prefix + uuid
            try:
                found = parse_attributes(journal.layout, answer.values, default_name=name)
            except ValueError:
                return JournalProblem.BAD_POOL_ID
            return FoundAttributes(attributes=found, pool=place)
    return None


def find_keeper(
    journal: CephJournal, pool: CephPoolRef, journal_pool_id: int
) -> RadosSteps[CephJournal | JournalProblem]:
    """The journal that leads to the image; that of ceph-csi is in the pool of the image itself."""
    if journal_pool_id in (NO_POOL, pool.id):
        return replace(journal, pool=pool)
    entry = DirectoryEntry("", journal_pool_id)
    found = yield from find_pool(journal, entry)
    if isinstance(found, JournalProblem):
        return found
    return journal if found is None else replace(journal, pool=found)
