"""Reserving an image for a request, and finishing or giving up the attempt.

The key of the request is written first, together with one that says that the image is being made:
from then on the next call for the request finds the attempt. It goes on with it if the image may be
in that pool, and comes out the same by any call. Otherwise it points the request to a new
image and remembers the old attempt as leftover, all in one write. That needs the pool of the
journal only, so a retry in another zone succeeds while the first zone is down. An attempt is
finished by removing the key that says that the image is being made; the driver answers its caller
after that and never before. So an image that a caller may know is never given up, and no request
ever leads to two images.

Each write compares what was read before. Of two calls for one request at the same time one
finishes; the other goes on with the same image or learns that it was superseded, and removes what
it made. The driver must still let one call at a time work for a request: one that was superseded
may crash before it learns that, and removals of images at the same time may miss each other in
librbd. In both cases an image is lost to the journal.
"""

from dataclasses import dataclass, replace

from plimsoll.decide.ceph.journal.key_steps import set_keys
from plimsoll.decide.ceph.journal.layout import (
    IMAGE_ID,
    CephPoolRef,
    DirectoryEntry,
    ImageAttributes,
    attribute_values,
    parse_entry,
)
from plimsoll.decide.ceph.journal.lookup import (
    RequestState,
    find_attributes,
    find_pool,
    read_request,
)
from plimsoll.decide.ceph.journal.operations import (
    PROBLEMS,
    JournalProblem,
    ObjectCreation,
    RadosProblem,
    RadosSteps,
    ReadKeys,
    WriteRadosObject,
)
from plimsoll.decide.ceph.journal.places import (
    CephJournal,
    ImagePlace,
    ImageRequest,
    making_key,
    new_attributes,
    new_place,
)
from plimsoll.decide.ceph.journal.removal import remove_pieces

ATTEMPTS = 5
OVERTAKEN = frozenset({RadosProblem.NOT_FOUND, RadosProblem.CHANGED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedImage:
    """To be made by the caller, who then finishes or abandons it."""

    place: ImagePlace
    request_name: str
    is_resumed: bool = False
    """An interrupted call reserved it: the image may exist."""
    has_given_up: bool = False
    """What an interrupted call reserved is a leftover now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownImage:
    """The request has an image that its caller may know: it stays where it is."""

    place: ImagePlace
    attributes: ImageAttributes


@dataclass(frozen=True, slots=True)
class AttemptFinished:
    """The image belongs to its request; the caller may be answered."""


@dataclass(frozen=True, slots=True)
class AttemptSuperseded:
    """Another call gave the attempt up: what was made is removed, and the caller tries again."""


@dataclass(frozen=True, slots=True)
class AttemptAbandoned:
    """Nothing is left of the attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stale:
    """The request leads to nothing: neither an image nor attributes."""

    entry: DirectoryEntry | None
    """None: it cannot even be read."""


def reserve(
    journal: CephJournal, request: ImageRequest
) -> RadosSteps[ReservedImage | KnownImage | JournalProblem]:
    for _ in range(ATTEMPTS):
        state = yield from read_request(journal, request.request_name)
        if isinstance(state, JournalProblem):
            return state
        found = yield from _find(journal, request, state)
        if isinstance(found, (KnownImage, JournalProblem)):
            return found
        if isinstance(found, ImagePlace) and request.may_resume_in(found.pool.id):
            return (yield from _with_object(journal, request, found, is_resumed=True))
        given_up = _leftovers(journal, found)
        claimed = yield from _claim(journal, request, state, given_up)
        if claimed is None:
            place = new_place(journal, request)
            reserved = yield from _with_object(journal, request, place, is_resumed=False)
            if isinstance(reserved, JournalProblem):
                return reserved
            return replace(reserved, has_given_up=bool(given_up))
        if claimed is not JournalProblem.CHANGED:
            return claimed
    return JournalProblem.CHANGED


def _find(
    journal: CephJournal, request: ImageRequest, state: RequestState
) -> RadosSteps[KnownImage | ImagePlace | _Stale | JournalProblem | None]:
    """A place is that of an interrupted attempt; None: the request has nothing yet."""
    if not state.entry:
        return (yield from _find_older(journal, request))
    try:
        entry = parse_entry(state.entry)
    except ValueError:
        return _Stale(entry=None)
    pool = yield from find_pool(journal, entry)
    if isinstance(pool, JournalProblem):
        return pool
    if pool is None:
        return _Stale(entry=entry)
    if state.is_being_made:
        return ImagePlace(pool=pool, uuid=entry.uuid, name=state.image_name)
    return (yield from _find_known(journal, request, entry, pool))


def _find_older(
    journal: CephJournal, request: ImageRequest
) -> RadosSteps[KnownImage | JournalProblem | None]:
    """What ceph-csi reserved in a journal of its own; an error there is one here."""
    for pool in journal.older:
        older = CephJournal(pool=pool, layout=journal.layout)
        state = yield from read_request(older, request.request_name)
        if state is JournalProblem.POOL_NOT_FOUND:
            continue
        if isinstance(state, JournalProblem):
            return state
        found = (yield from _find(older, request, state)) if state.entry else None
        if isinstance(found, (KnownImage, JournalProblem)):
            return found
    return None


def _find_known(
    journal: CephJournal, request: ImageRequest, entry: DirectoryEntry, pool: CephPoolRef
) -> RadosSteps[KnownImage | _Stale | JournalProblem]:
    found = yield from find_attributes(journal, pool.name, entry.uuid)
    if found is None:
        return _Stale(entry=entry)
    if isinstance(found, JournalProblem):
        return found
    attributes = found.attributes
    if attributes.request_name != request.request_name:
        return JournalProblem.REQUEST_NAME_MISMATCH
    if attributes.source != request.source:
        return JournalProblem.SNAPSHOT_NAME_CONFLICT
    place = ImagePlace(pool=pool, uuid=entry.uuid, name=attributes.image_name)
    return KnownImage(place=place, attributes=attributes)


def _leftovers(journal: CephJournal, found: ImagePlace | _Stale | None) -> dict[str, str]:
    """Keys for what is given up; the value is the image to remove, empty: there is none of ours."""
    match found:
        case ImagePlace():
            return {journal.leftover_key(journal.entry(found)): found.name}
        case _Stale(entry=DirectoryEntry() as entry):
            return {journal.leftover_key(entry): ""}
        case _:
            return {}


def _claim(
    journal: CephJournal, request: ImageRequest, before: RequestState, leftovers: dict[str, str]
) -> RadosSteps[JournalProblem | None]:
    """Points the request to its new image, if nothing has changed since it was read."""
    name = request.request_name
    key, making = journal.layout.request_key(name), making_key(name)
    place = new_place(journal, request)
    expected = {key: before.entry, making: before.making}
    values = {key: journal.entry(place).text, making: journal.making(place)} | leftovers
    return (yield from set_keys(journal.directory, values, expected=expected))


def _with_object(
    journal: CephJournal, request: ImageRequest, place: ImagePlace, *, is_resumed: bool
) -> RadosSteps[ReservedImage | JournalProblem]:
    """The object of the image, with all attributes in one write."""
    object_, name_key = journal.image_object(place), journal.layout.name_key
    attributes = new_attributes(journal, request, place)
    answer = yield WriteRadosObject(
        object=object_,
        creation=ObjectCreation.EXCLUSIVE,
        values=attribute_values(journal.layout, attributes),
    )
    reserved = ReservedImage(place=place, request_name=request.request_name, is_resumed=is_resumed)
    if answer.problem is None:
        return reserved
    if answer.problem is not RadosProblem.EXISTS:
        return PROBLEMS[answer.problem]
    answer = yield ReadKeys(object=object_, keys=(name_key,))
    if answer.problem:
        return PROBLEMS[answer.problem]
    if answer.values.get(name_key) == request.request_name:
        return reserved
    yield from _drop(journal, reserved, leftovers={})
    return JournalProblem.OBJECT_EXISTS


def _drop(
    journal: CephJournal, reserved: ReservedImage, leftovers: dict[str, str]
) -> RadosSteps[RadosProblem | None]:
    """Frees the request from an attempt that was not finished."""
    key = journal.layout.request_key(reserved.request_name)
    making = making_key(reserved.request_name)
    place = reserved.place
    answer = yield WriteRadosObject(
        object=journal.directory,
        expected={key: journal.entry(place).text, making: journal.making(place)},
        values=leftovers,
        removed=(key, making),
    )
    return answer.problem


def finish(
    journal: CephJournal, reserved: ReservedImage, image_id: str, *, record: str = ""
) -> RadosSteps[AttemptFinished | AttemptSuperseded | JournalProblem]:
    """The image exists. Until this is done, no caller may be told of it. Its record is kept from
    the same moment on."""
    answer = yield WriteRadosObject(
        object=journal.image_object(reserved.place),
        expected={journal.layout.name_key: reserved.request_name},
        values={IMAGE_ID: image_id},
    )
    if answer.problem is None:
        making = making_key(reserved.request_name)
        key = journal.layout.request_key(reserved.request_name)
        expected = {
            key: journal.entry(reserved.place).text,
            making: journal.making(reserved.place),
        }
        values = {journal.record_key(reserved.place): record} if record else {}
        answer = yield WriteRadosObject(
            object=journal.directory, expected=expected, values=values, removed=(making,)
        )
    if answer.problem is None:
        return AttemptFinished()
    if answer.problem not in OVERTAKEN:
        return PROBLEMS[answer.problem]
    return (yield from _overtaken(journal, reserved))


def abandon(
    journal: CephJournal, reserved: ReservedImage
) -> RadosSteps[AttemptAbandoned | AttemptFinished | AttemptSuperseded | JournalProblem]:
    """The image cannot be made: the pool has no room, for example."""
    leftover = journal.leftover_key(journal.entry(reserved.place))
    problem = yield from _drop(journal, reserved, leftovers={leftover: reserved.place.name})
    if problem in OVERTAKEN:
        return (yield from _overtaken(journal, reserved))
    if problem:
        return PROBLEMS[problem]
    failure = yield from remove_pieces(journal, reserved.place)
    return failure or AttemptAbandoned()


def give_up(
    journal: CephJournal, request_name: str, *, only_uuid: str = ""
) -> RadosSteps[ImagePlace | JournalProblem | None]:
    """Whatever is being made for the request, or only what has the uuid, becomes a leftover, which
    `clean` removes.

    Needs the pool of the journal only. None: nothing is being made, or its pool is gone.
    """
    state = yield from read_request(journal, request_name)
    if isinstance(state, JournalProblem):
        return state
    if not state.is_being_made:
        return None
    try:
        entry = parse_entry(state.entry)
    except ValueError:
        return JournalProblem.BAD_POOL_ID
    if only_uuid not in ("", entry.uuid):
        return None
    key, making = journal.layout.request_key(request_name), making_key(request_name)
    answer = yield WriteRadosObject(
        object=journal.directory,
        expected={key: state.entry, making: state.making},
        values={journal.leftover_key(entry): state.image_name},
        removed=(key, making),
    )
    if answer.problem:
        return PROBLEMS[answer.problem]
    pool = yield from find_pool(journal, entry)
    if pool is None or isinstance(pool, JournalProblem):
        return pool
    return ImagePlace(pool=pool, uuid=entry.uuid, name=state.image_name)


def _overtaken(
    journal: CephJournal, reserved: ReservedImage
) -> RadosSteps[AttemptFinished | AttemptSuperseded | JournalProblem]:
    """Another call finished the same image, or gave it up."""
    state = yield from read_request(journal, reserved.request_name)
    if isinstance(state, JournalProblem):
        return state
    entry = journal.entry(reserved.place)
    if state.entry == entry.text:
        return JournalProblem.CHANGED if state.is_being_made else AttemptFinished()
    leftover = {journal.leftover_key(entry): reserved.place.name}
    answer = yield WriteRadosObject(object=journal.directory, values=leftover)
    if answer.problem:
        return PROBLEMS[answer.problem]
    failure = yield from remove_pieces(journal, reserved.place)
    return failure or AttemptSuperseded()
