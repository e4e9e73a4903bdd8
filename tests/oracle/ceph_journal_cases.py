"""Asks `plimsoll.decide.ceph.journal.compatible` how ceph-csi keeps its journal."""

from copy import deepcopy
from typing import Any

from plimsoll.decide.ceph.journal.compatible import (
    CompatibleImage,
    CompatibleRequest,
    CompatibleReservation,
    compatible_attributes,
    compatible_check,
    compatible_reserve,
    compatible_store_image_id,
    compatible_undo,
)
from plimsoll.decide.ceph.journal.layout import (
    CephPoolRef,
    ImageAttributes,
    JournalKind,
    JournalLayout,
)
from plimsoll.decide.ceph.journal.operations import (
    FindPoolName,
    JournalProblem,
    ObjectCreation,
    ReadKeys,
    RemoveImage,
    RemoveRadosObject,
    WriteRadosObject,
)
from tests.decide.ceph.journal.rados_table import MakeImage, RadosTable, TableOperation

Answer = dict[str, Any]

ERRORS = {
    JournalProblem.IO_ERROR: "io-error",
    JournalProblem.OBJECT_EXISTS: "object-exists",
    JournalProblem.BAD_IMAGE_NAME: "bad-image-name",
    JournalProblem.REQUEST_NAME_MISMATCH: "request-name-mismatch",
    JournalProblem.KEY_NOT_FOUND: "key-not-found",
    JournalProblem.BAD_POOL_ID: "bad-pool-id-encoding",
    JournalProblem.POOL_NOT_FOUND: "pool-not-found",
    JournalProblem.SNAPSHOTS_ONLY: "snapshots-only",
    JournalProblem.ENCRYPTION_MISMATCH: "encryption-mismatch",
    JournalProblem.SNAPSHOT_NAME_CONFLICT: "snap-name-conflict",
}


def journal(case: dict[str, Any]) -> Answer:
    layout = JournalLayout(
        kind=JournalKind(case["kind"]),
        instance=case["instanceID"],
        namespace=case["radosNamespace"],
    )
    table = RadosTable(pools=case["pools"], objects=deepcopy(case["state"]))
    return {"ops": [_carried_out(layout, table, op) for op in case["ops"]]}


def _carried_out(layout: JournalLayout, table: RadosTable, op: dict[str, Any]) -> Answer:
    before = len(table.carried_out)
    answer = OPERATIONS[op["op"]](layout, table, op)
    done = [_told(operation) for operation in table.carried_out[before:]]
    return answer | {"radosOps": done, "state": deepcopy(table.objects)}


def _told(operation: TableOperation) -> str:
    match operation:
        case ReadKeys(object=object_):
            return f"get {object_.pool} {object_.name}"
        case WriteRadosObject(object=object_, creation=ObjectCreation.EXCLUSIVE):
            return f"create {object_.pool} {object_.name}"
        case WriteRadosObject(object=object_, removed=removed):
            return f"{'rmkeys' if removed else 'set'} {object_.pool} {object_.name}"
        case RemoveRadosObject(object=object_):
            return f"remove {object_.pool} {object_.name}"
        case FindPoolName(pool_id=pool_id):
            return f"poolname {pool_id} "
        case RemoveImage() | MakeImage():
            raise AssertionError(operation)


def _request(table: RadosTable, op: dict[str, Any]) -> CompatibleRequest:
    def pool(name: str) -> CephPoolRef:
        return CephPoolRef(name, table.pools.get(name, -1))

    return CompatibleRequest(
        request_name=op["requestName"],
        journal_pool=pool(op["journalPool"]),
        image_pool=pool(op["imagePool"]),
        name_prefix=op.get("namePrefix", ""),
        parent=op.get("parentName", ""),
        kms_id=op.get("kmsID", ""),
        encryption=op.get("encryptionType", ""),
        owner=op.get("owner", ""),
    )


def _reserve(layout: JournalLayout, table: RadosTable, op: dict[str, Any]) -> Answer:
    steps = compatible_reserve(layout, _request(table, op), [op["uuid"]])
    found = table.run(steps, fail_at=op.get("failAtRadosOp"))
    if isinstance(found, CompatibleReservation):
        return {"error": None, "uuid": found.uuid, "imageName": found.image_name}
    return {"error": ERRORS[found]}


def _check(layout: JournalLayout, table: RadosTable, op: dict[str, Any]) -> Answer:
    steps = compatible_check(layout, _request(table, op))
    found = table.run(steps, fail_at=op.get("failAtRadosOp"))
    if isinstance(found, CompatibleImage):
        return {"error": None, "reservation": _image(found)}
    return {"error": found and ERRORS[found], "reservation": None}


def _image(found: CompatibleImage) -> Answer:
    return {
        "uuid": found.uuid,
        "imagePool": found.pool,
        "imagePoolID": found.pool_id,
        "attributes": _shown(found.attributes),
    }


def _shown(attributes: ImageAttributes) -> Answer:
    return {
        "requestName": attributes.request_name,
        "imageName": attributes.image_name,
        "imageID": attributes.image_id,
        "sourceName": attributes.source,
        "journalPoolID": attributes.journal_pool_id,
        "kmsID": attributes.kms_id,
        "encryptionType": attributes.encryption,
        "owner": attributes.owner,
    }


def _undo(layout: JournalLayout, table: RadosTable, op: dict[str, Any]) -> Answer:
    steps = compatible_undo(layout, _request(table, op), op["imageName"])
    problem = table.run(steps, fail_at=op.get("failAtRadosOp"))
    return {"error": problem and ERRORS[problem]}


def _attributes(layout: JournalLayout, table: RadosTable, op: dict[str, Any]) -> Answer:
    is_snapshot = op.get("snapSource", False)
    steps = compatible_attributes(layout, op["pool"], op["uuid"], is_snapshot=is_snapshot)
    found = table.run(steps, fail_at=op.get("failAtRadosOp"))
    if isinstance(found, JournalProblem):
        return {"error": ERRORS[found]}
    return {"error": None, "attributes": _shown(found)}


def _store_image_id(layout: JournalLayout, table: RadosTable, op: dict[str, Any]) -> Answer:
    steps = compatible_store_image_id(layout, op["pool"], op["uuid"], op["imageID"])
    problem = table.run(steps, fail_at=op.get("failAtRadosOp"))
    return {"error": problem and ERRORS[problem]}


OPERATIONS = {
    "reserve": _reserve,
    "check": _check,
    "undo": _undo,
    "attributes": _attributes,
    "storeImageID": _store_image_id,
}
