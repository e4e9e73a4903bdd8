"""The journal as ceph-csi keeps it, with what is odd about it.

A reservation creates the object of the image first, and only then the key that leads to it: a crash
in between loses the object. Where journal and image are in different pools, attributes are written
through the pool of the journal and looked for in that of the image, and a failed reservation is
undone with the two pools exchanged. `reservations` is how Plimsoll does it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll.decide.ceph.journal.key_steps import remove_keys
from plimsoll.decide.ceph.journal.layout import (
    IMAGE_ID,
    NO_POOL,
    SOURCE,
    CephPoolRef,
    DirectoryEntry,
    ImageAttributes,
    JournalKind,
    JournalLayout,
    attribute_values,
    parse_attributes,
    parse_entry,
)
from plimsoll.decide.ceph.journal.operations import (
    PROBLEMS,
    FindPoolName,
    JournalProblem,
    ObjectCreation,
    RadosProblem,
    RadosSteps,
    ReadKeys,
    RemoveRadosObject,
    WriteRadosObject,
)
from plimsoll.decide.ceph.volume_ids import UUID_BYTES

UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
VOLUME_PREFIX, SNAPSHOT_PREFIX = "csi-vol-", "csi-snap-"
ABSENT = frozenset({RadosProblem.NOT_FOUND, RadosProblem.POOL_NOT_FOUND})


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleRequest:
    request_name: str
    journal_pool: CephPoolRef
    image_pool: CephPoolRef
    name_prefix: str = ""
    parent: str = ""
    """Of a snapshot: the image that it is taken of."""
    kms_id: str = ""
    encryption: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleReservation:
    uuid: str
    image_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleImage:
    uuid: str
    pool: str
    pool_id: int
    attributes: ImageAttributes


def compatible_reserve(
    layout: JournalLayout, request: CompatibleRequest, uuids: Sequence[str]
) -> RadosSteps[CompatibleReservation | JournalProblem]:
    """The first uuid is taken that no image has."""
    if request.parent and layout.kind is not JournalKind.SNAPSHOT:
        return JournalProblem.SNAPSHOTS_ONLY
    uuid = yield from _create_object(layout, request.image_pool.name, uuids)
    if isinstance(uuid, JournalProblem):
        return uuid
    image_name = _image_name(request.name_prefix, uuid, is_snapshot=bool(request.parent))
    key = layout.request_key(request.request_name)
    journal = request.journal_pool.name
    answer = yield WriteRadosObject(
        object=layout.directory(journal), values={key: _entry(request, uuid).text}
    )
    if answer.problem:
        return PROBLEMS[answer.problem]
    answer = yield WriteRadosObject(
        object=layout.image_object(journal, uuid),
        values=attribute_values(layout, _attributes(request, image_name)),
    )
    if answer.problem:
        exchanged = _Undo(request.request_name, request.image_pool.name, journal, image_name)
        yield from _undo(layout, exchanged)
        return PROBLEMS[answer.problem]
    return CompatibleReservation(uuid=uuid, image_name=image_name)


def _create_object(
    layout: JournalLayout, pool: str, uuids: Sequence[str]
) -> RadosSteps[str | JournalProblem]:
    for uuid in uuids:
        answer = yield WriteRadosObject(
            object=layout.image_object(pool, uuid), creation=ObjectCreation.EXCLUSIVE
        )
        if answer.problem is None:
            return uuid
        if answer.problem is not RadosProblem.EXISTS:
            return PROBLEMS[answer.problem]
    return JournalProblem.OBJECT_EXISTS


def _image_name(prefix: str, uuid: str, *, is_snapshot: bool) -> str:
    return (prefix or (SNAPSHOT_PREFIX if is_snapshot else VOLUME_PREFIX)) + uuid


def _entry(request: CompatibleRequest, uuid: str) -> DirectoryEntry:
    if request.journal_pool.name == request.image_pool.name or request.image_pool.id == NO_POOL:
        return DirectoryEntry(uuid)
    return DirectoryEntry(uuid, request.image_pool.id)


def _attributes(request: CompatibleRequest, image_name: str) -> ImageAttributes:
    is_split = request.journal_pool.name != request.image_pool.name
    return ImageAttributes(
        request_name=request.request_name,
        image_name=image_name,
        source=request.parent,
        kms_id=request.kms_id,
        encryption=request.encryption,
        owner=request.owner,
        journal_pool_id=request.journal_pool.id if is_split else NO_POOL,
    )


def compatible_check(
    layout: JournalLayout, request: CompatibleRequest
) -> RadosSteps[CompatibleImage | JournalProblem | None]:
    """The image of a request, in whatever pool; None: there is none, or no longer."""
    if request.parent and layout.kind is not JournalKind.SNAPSHOT:
        return JournalProblem.SNAPSHOTS_ONLY
    journal = request.journal_pool.name
    key = layout.request_key(request.request_name)
    answer = yield ReadKeys(object=layout.directory(journal), keys=(key,))
    if answer.problem in ABSENT or (answer.problem is None and key not in answer.values):
        return None
    if answer.problem:
        return PROBLEMS[answer.problem]
    try:
        entry = parse_entry(answer.values[key])
    except ValueError:
        return JournalProblem.BAD_POOL_ID
    pool = journal
    if entry.pool_id is not None:
        found = yield FindPoolName(pool_id=entry.pool_id)
        if found.problem in ABSENT:
            return (yield from _undo(layout, _Undo(request.request_name, journal)))
        if found.problem:
            return PROBLEMS[found.problem]
        pool = found.pool
    return (yield from _checked(layout, request, entry, pool))


def _checked(
    layout: JournalLayout, request: CompatibleRequest, entry: DirectoryEntry, pool: str
) -> RadosSteps[CompatibleImage | JournalProblem | None]:
    is_snapshot = bool(request.parent)
    found = yield from compatible_attributes(layout, pool, entry.uuid, is_snapshot=is_snapshot)
    if found is JournalProblem.KEY_NOT_FOUND:
        name = _image_name(request.name_prefix, entry.uuid, is_snapshot=is_snapshot)
        stale = _Undo(request.request_name, request.journal_pool.name, pool, name)
        return (yield from _undo(layout, stale))
    if isinstance(found, JournalProblem):
        return found
    if problem := _mismatch(request, found):
        return problem
    pool_id = NO_POOL if entry.pool_id is None else entry.pool_id
    return CompatibleImage(uuid=entry.uuid, pool=pool, pool_id=pool_id, attributes=found)


def _mismatch(request: CompatibleRequest, found: ImageAttributes) -> JournalProblem | None:
    if found.request_name != request.request_name:
        return JournalProblem.REQUEST_NAME_MISMATCH
    if request.kms_id not in ("", found.kms_id):
        return JournalProblem.ENCRYPTION_MISMATCH
    if request.encryption not in ("", found.encryption):
        return JournalProblem.ENCRYPTION_MISMATCH
    if request.parent and found.source != request.parent:
        return JournalProblem.SNAPSHOT_NAME_CONFLICT
    return None


def compatible_attributes(
    layout: JournalLayout, pool: str, uuid: str, *, is_snapshot: bool
) -> RadosSteps[ImageAttributes | JournalProblem]:
    """A volume whose object is gone has attributes all the same: they are empty."""
    if is_snapshot and layout.kind is not JournalKind.SNAPSHOT:
        return JournalProblem.SNAPSHOTS_ONLY
    answer = yield ReadKeys(object=layout.image_object(pool, uuid), keys=layout.attribute_keys)
    if answer.problem and answer.problem not in ABSENT:
        return PROBLEMS[answer.problem]
    try:
        name = _image_name("", uuid, is_snapshot=is_snapshot)
        found = parse_attributes(layout, answer.values, default_name=name)
    except ValueError:
        return JournalProblem.BAD_POOL_ID
    if is_snapshot and SOURCE not in answer.values:
        return JournalProblem.KEY_NOT_FOUND
    return found


@dataclass(frozen=True, slots=True)
class _Undo:
    request_name: str
    journal_pool: str
    image_pool: str = ""
    image_name: str = ""
    """Empty: there is no object to remove."""


def compatible_undo(
    layout: JournalLayout, request: CompatibleRequest, image_name: str
) -> RadosSteps[JournalProblem | None]:
    pools = request.journal_pool.name, request.image_pool.name
    return _undo(layout, _Undo(request.request_name, *pools, image_name))


def _undo(layout: JournalLayout, undo: _Undo) -> RadosSteps[JournalProblem | None]:
    if undo.image_name:
        uuid = undo.image_name[-UUID_BYTES:]
        if not UUID.fullmatch(uuid):
            return JournalProblem.BAD_IMAGE_NAME
        answer = yield RemoveRadosObject(object=layout.image_object(undo.image_pool, uuid))
        if answer.problem and answer.problem not in ABSENT:
            return PROBLEMS[answer.problem]
    directory = layout.directory(undo.journal_pool)
    return (yield from remove_keys(directory, layout.request_key(undo.request_name)))


def compatible_store_image_id(
    layout: JournalLayout, pool: str, uuid: str, image_id: str
) -> RadosSteps[JournalProblem | None]:
    answer = yield WriteRadosObject(
        object=layout.image_object(pool, uuid), values={IMAGE_ID: image_id}
    )
    return PROBLEMS[answer.problem] if answer.problem else None
