"""Records of volumes and snapshots in the directory of the journal: found, changed, listed.

A record is there from the moment when its image may be known until the last piece of the image is
removed. Every change compares the record with what was read before, so that drivers on many nodes
need no lock: of two changes at the same time one is refused, and begins again. A node that wants to
write to an image says so under a key of its own, and only while the record is what the node read:
so a volume that is being removed gets no writer, and none is removed while it has one.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from plimsoll.decide.ceph.journal.fences import Domain, fence_keys
from plimsoll.decide.ceph.journal.key_steps import read_keys, set_keys
from plimsoll.decide.ceph.journal.layout import CephPoolRef, DirectoryEntry, ImageAttributes
from plimsoll.decide.ceph.journal.lookup import (
    ABSENT,
    find_attributes,
    find_keeper,
    read_request,
)
from plimsoll.decide.ceph.journal.operations import (
    PROBLEMS,
    FindPoolName,
    JournalProblem,
    RadosSteps,
    ReadKeys,
)
from plimsoll.decide.ceph.journal.places import (
    RECORD,
    WRITER,
    CephJournal,
    ImagePlace,
)
from plimsoll.decide.ceph.volume_ids import parse_pool_id


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    journal: CephJournal
    """The one that has the record."""
    place: ImagePlace
    text: str
    """Empty: another program made the image, and has no record of ours."""
    writer: str = ""
    attributes: ImageAttributes | None = None
    """None: the object of the image was not asked for them, or is gone already."""


NameInRecord = Callable[[str], str]
"""What a record, as a text, says that its image is called; empty: it does not say."""


def _no_name(text: str) -> str:  # noqa: ARG001 - of no record
    return ""


def find_record(
    journal: CephJournal, entry: DirectoryEntry, *, name_in: NameInRecord = _no_name
) -> RadosSteps[JournalRecord | JournalProblem | None]:
    """None: there is no such image, or it is not made yet. The pool of the image is asked only if
    the journal has no record of it that tells its name."""
    pool_id = journal.pool_id(entry)
    answer = yield FindPoolName(pool_id=pool_id)
    if answer.problem:
        return None if answer.problem in ABSENT else PROBLEMS[answer.problem]
    pool = CephPoolRef(answer.pool, pool_id)
    recorded = yield from _recorded(journal, pool, entry.uuid, name_in)
    if recorded is not None:
        return recorded
    found = yield from find_attributes(journal, pool.name, entry.uuid)
    if isinstance(found, JournalProblem):
        return found
    if found is None:
        place = ImagePlace(pool=pool, uuid=entry.uuid, name=_default_name(journal, entry.uuid))
        return (yield from _stored(journal, place, None))
    keeper = yield from find_keeper(journal, pool, found.attributes.journal_pool_id)
    if isinstance(keeper, JournalProblem):
        return keeper
    place = ImagePlace(pool=pool, uuid=entry.uuid, name=found.attributes.image_name)
    return (yield from _stored(keeper, place, found.attributes))


def _recorded(
    journal: CephJournal, pool: CephPoolRef, uuid: str, name_in: NameInRecord
) -> RadosSteps[JournalRecord | JournalProblem | None]:
    nameless = ImagePlace(pool=pool, uuid=uuid, name="")
    keys = journal.record_key(nameless), journal.writer_key(nameless)
    answer = yield ReadKeys(object=journal.directory, keys=keys)
    if answer.problem:
        return None if answer.problem in ABSENT else PROBLEMS[answer.problem]
    text, writer = (answer.values.get(key, "") for key in keys)
    if not (name := name_in(text) if text else ""):
        return None
    place = replace(nameless, name=name)
    return JournalRecord(journal=journal, place=place, text=text, writer=writer)


def _default_name(journal: CephJournal, uuid: str) -> str:
    return journal.layout.default_prefix + uuid


def _stored(
    journal: CephJournal, place: ImagePlace, attributes: ImageAttributes | None
) -> RadosSteps[JournalRecord | JournalProblem | None]:
    keys = journal.record_key(place), journal.writer_key(place)
    answer = yield ReadKeys(object=journal.directory, keys=keys)
    if answer.problem and answer.problem not in ABSENT:
        return PROBLEMS[answer.problem]
    text, writer = (answer.values.get(key, "") for key in keys)
    stored = JournalRecord(
        journal=journal, place=place, text=text, writer=writer, attributes=attributes
    )
    if text:
        return stored
    if attributes is None:
        return None
    state = yield from read_request(journal, attributes.request_name)
    if isinstance(state, JournalProblem):
        return state
    return stored if state.leads_to(place.uuid) and not state.is_being_made else None


def find_request_record(
    journal: CephJournal, request_name: str, *, name_in: NameInRecord = _no_name
) -> RadosSteps[JournalRecord | JournalProblem | None]:
    """The record of the image that a request leads to; None: it has none, or none that is made."""
    for each in _journals(journal):
        state = yield from read_request(each, request_name)
        if state is JournalProblem.POOL_NOT_FOUND:
            continue
        if isinstance(state, JournalProblem):
            return state
        if entry := state.known_entry:
            found = DirectoryEntry(entry.uuid, each.pool_id(entry))
            return (yield from find_record(each, found, name_in=name_in))
    return None


def _journals(journal: CephJournal) -> Iterator[CephJournal]:
    yield journal
    for pool in journal.older:
        yield CephJournal(pool=pool, layout=journal.layout)


def write_record(
    stored: JournalRecord, text: str, *, is_removal: bool = False
) -> RadosSteps[JournalProblem | None]:
    """`Changed`: another driver has written since the record was read, or, for a removal, a node
    has begun to write to the image since."""
    key = stored.journal.record_key(stored.place)
    expected = {key: stored.text}
    if is_removal:
        expected[stored.journal.writer_key(stored.place)] = stored.writer
    return (yield from _write(stored.journal, expected, {key: text}))


def write_writer(
    stored: JournalRecord, writer: str, *, topology: Domain | None = None
) -> RadosSteps[JournalProblem | None]:
    """Empty: there is no writer any more. `Changed`: the record or its writer is another by now, or
    the domain of the node with these labels is fenced."""
    journal, place = stored.journal, stored.place
    record, key = journal.record_key(place), journal.writer_key(place)
    expected = {key: stored.writer}
    if writer:
        expected |= {record: stored.text} | dict.fromkeys(fence_keys(topology or {}), "")
    return (yield from _write(journal, expected, {key: writer}))


def drop_writer(
    journal: CephJournal, entry: DirectoryEntry, writer: str
) -> RadosSteps[JournalProblem | None]:
    """Unless it is another by now, which began after this one was read."""
    place = ImagePlace(pool=CephPoolRef("", journal.pool_id(entry)), uuid=entry.uuid, name="")
    key = journal.writer_key(place)
    problem = yield from _write(journal, {key: writer}, {key: ""})
    return None if problem is JournalProblem.CHANGED else problem


def _write(
    journal: CephJournal, expected: Mapping[str, str], values: Mapping[str, str]
) -> RadosSteps[JournalProblem | None]:
    kept = {key: value for key, value in values.items() if value}
    removed = tuple(key for key, value in values.items() if not value)
    return (yield from set_keys(journal.directory, kept, expected=expected, removed=removed))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRecords:
    """By the image that they are of."""

    records: Mapping[DirectoryEntry, str]
    writers: Mapping[DirectoryEntry, str]


def list_records(journal: CephJournal) -> RadosSteps[ListedRecords | JournalProblem]:
    found: dict[str, Mapping[DirectoryEntry, str]] = {}
    for prefix in (RECORD, WRITER):
        listed = yield from read_keys(journal.directory, prefix=prefix)
        if isinstance(listed, JournalProblem):
            return listed
        found[prefix] = {
            entry: text
            for key, text in listed.items()
            if (entry := _entry(key.removeprefix(prefix))) is not None
        }
    return ListedRecords(records=found[RECORD], writers=found[WRITER])


def _entry(text: str) -> DirectoryEntry | None:
    pool_id, _, uuid = text.partition("/")
    try:
        return DirectoryEntry(uuid, parse_pool_id(pool_id))
    except ValueError:
        return None
