"""Removing what is left of an image: after it was deleted, or after an attempt was given up.

What is to be removed is written down in the directory first, so that any later call can go on.
"""

from collections.abc import Callable

from plimsoll.decide.ceph.journal.key_steps import read_keys, remove_keys
from plimsoll.decide.ceph.journal.layout import CephPoolRef
from plimsoll.decide.ceph.journal.lookup import find_attributes, find_keeper, read_request
from plimsoll.decide.ceph.journal.operations import (
    PROBLEMS,
    FindPoolName,
    JournalProblem,
    RadosProblem,
    RadosSteps,
    RemoveImage,
    RemoveRadosObject,
    WriteRadosObject,
)
from plimsoll.decide.ceph.journal.places import (
    LEFTOVER,
    CephJournal,
    ImagePlace,
    making_key,
    parse_leftover,
)

GONE = frozenset({RadosProblem.NOT_FOUND, RadosProblem.POOL_NOT_FOUND})
ATTEMPTS = 5


def remove_pieces(journal: CephJournal, place: ImagePlace) -> RadosSteps[JournalProblem | None]:
    """The image if it has a name, then its object, then the key that told of them."""
    if place.name:
        namespace = journal.layout.namespace
        answer = yield RemoveImage(pool=place.pool.name, name=place.name, namespace=namespace)
        if answer.problem and answer.problem not in GONE:
            return PROBLEMS[answer.problem]
    answer = yield RemoveRadosObject(object=journal.image_object(place))
    if answer.problem and answer.problem not in GONE:
        return PROBLEMS[answer.problem]
    return (yield from _remove_leftover(journal, place))


def _remove_leftover(journal: CephJournal, place: ImagePlace) -> RadosSteps[JournalProblem | None]:
    """With the record, which is kept until nothing else is left."""
    keys = (
        journal.leftover_key(journal.entry(place)),
        journal.record_key(place),
        journal.writer_key(place),
    )
    return (yield from remove_keys(journal.directory, *keys))


def clean(
    journal: CephJournal, *, is_asked: Callable[[int], bool] = lambda _: True
) -> RadosSteps[int | JournalProblem]:
    """Removes what is left of all attempts that were given up; answers how many it could not.

    A pool that is down keeps its leftovers, and lets each of them be waited for: callers that know
    of such pools, by their ids, do not let them be asked.
    """
    found = yield from read_keys(journal.directory, prefix=LEFTOVER)
    if isinstance(found, JournalProblem):
        return found
    kept = 0
    for key, image_name in found.items():
        problem = yield from _clean_one(journal, key, image_name, is_asked)
        kept += problem is not None
    return kept


def _clean_one(
    journal: CephJournal, key: str, image_name: str, is_asked: Callable[[int], bool]
) -> RadosSteps[JournalProblem | None]:
    try:
        entry = parse_leftover(key)
    except ValueError:
        return JournalProblem.BAD_POOL_ID
    if not is_asked(journal.pool_id(entry)):
        return JournalProblem.IO_ERROR
    answer = yield FindPoolName(pool_id=journal.pool_id(entry))
    pool = CephPoolRef(answer.pool, journal.pool_id(entry))
    place = ImagePlace(pool=pool, uuid=entry.uuid, name=image_name)
    if answer.problem in GONE:
        return (yield from _remove_leftover(journal, place))
    if answer.problem:
        return PROBLEMS[answer.problem]
    return (yield from remove_pieces(journal, place))


def forget(journal: CephJournal, pool: CephPoolRef, uuid: str) -> RadosSteps[JournalProblem | None]:
    """The image is deleted: so is all that the journal knows of it, whichever driver wrote it."""
    place = ImagePlace(pool=pool, uuid=uuid, name="")
    found = yield from find_attributes(journal, pool.name, uuid)
    if isinstance(found, JournalProblem):
        return found
    if found is None:
        return (yield from remove_pieces(journal, place))
    keeper = yield from find_keeper(journal, pool, found.attributes.journal_pool_id)
    if isinstance(keeper, JournalProblem):
        return keeper
    problem = yield from _forget_request(keeper, place, found.attributes.request_name)
    if problem is None and found.pool != pool.name:
        answer = yield RemoveRadosObject(object=journal.layout.image_object(found.pool, uuid))
        problem = PROBLEMS[answer.problem] if answer.problem else None
    return problem or (yield from remove_pieces(keeper, place))


def _forget_request(
    keeper: CephJournal, place: ImagePlace, request_name: str
) -> RadosSteps[JournalProblem | None]:
    """Unless the request has another image by now."""
    keys = keeper.layout.request_key(request_name), making_key(request_name)
    for _ in range(ATTEMPTS):
        state = yield from read_request(keeper, request_name)
        if isinstance(state, JournalProblem):
            return state
        if not state.leads_to(place.uuid):
            return None
        answer = yield WriteRadosObject(
            object=keeper.directory,
            expected=dict(zip(keys, (state.entry, state.making), strict=True)),
            values={keeper.leftover_key(keeper.entry(place)): ""},
            removed=keys,
        )
        if answer.problem is not RadosProblem.CHANGED:
            return PROBLEMS[answer.problem] if answer.problem else None
    return JournalProblem.CHANGED
