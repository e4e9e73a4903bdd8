"""Lets `plimsoll.decide.provisioning` provision and delete in a small world, try by try."""

from typing import Any, assert_never

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.plan import Patch
from plimsoll.decide.provisioning.calls import (
    Block,
    CallFailed,
    CapacityOutcome,
    CapacityReport,
    Code,
    ContentSource,
    CreatedVolume,
    CreateOutcome,
    CreateVolumeCall,
    Deleted,
    DeleteOutcome,
    DeleteVolumeCall,
    FromSnapshot,
    FromVolume,
    GetCapacityCall,
    VolumeCapability,
)
from plimsoll.decide.provisioning.deletion import Retry
from plimsoll.decide.provisioning.failures import Problem, ProvisioningFailure
from plimsoll.decide.provisioning.settings import (
    NodeDeployment,
    ProvisionerMode,
    ProvisionerSettings,
)
from plimsoll.decide.provisioning.steps import Delay, Ignore, IgnoreReason, Refuse, Reschedule
from tests.decide.provisioning.world import (
    CLAIMS,
    SNAPSHOTS,
    VOLUMES,
    Driver,
    End,
    World,
)
from tests.oracle.provisioner_topology_cases import shown

Answer = dict[str, Any]

PROBLEMS = {
    Problem.CLASS_NOT_FOUND: "storageclass-not-found",
    Problem.CROSS_NAMESPACE: "cross-namespace-disabled",
    Problem.SOURCE_WITHOUT_NAME: "datasource-no-name",
    Problem.SOURCE_API_GROUP: "datasource-apigroup",
    Problem.SOURCE_UNUSABLE: "datasource",
    Problem.CAPABILITY_MISSING: "capability-missing",
    Problem.SELECTOR: "selector",
    Problem.VOLUME_NAME: "volume-name",
    Problem.FS_TYPE_TWICE: "fstype-twice",
    Problem.ACCESS_MODE: "access-mode",
    Problem.TOPOLOGY: "topology",
    Problem.NODE_NOT_FOUND: "object-not-found",
    Problem.SECRET_PARAMETERS: "secret-params",
    Problem.SECRET_TEMPLATE: "secret-template",
    Problem.SECRET_NAME: "secret-name-invalid",
    Problem.SECRET_NAMESPACE: "secret-namespace-invalid",
    Problem.SECRET_NOT_FOUND: "secret-not-found",
    Problem.UNKNOWN_PARAMETER: "unknown-reserved-parameter",
    Problem.ATTRIBUTES_CLASS_NOT_FOUND: "vac-not-found",
    Problem.ATTRIBUTES_CLASS_OF_OTHER_DRIVER: "vac-driver-mismatch",
    Problem.TOO_SMALL: "capacity-too-small",
    Problem.CONTENT_SOURCE_MISSING: "content-source-missing",
    Problem.NOT_CSI: "invalid-pv",
    Problem.AFFINITY: "affinity",
    Problem.STILL_ATTACHED: "still-attached",
}


# What the case says


def _settings(case: dict[str, Any]) -> ProvisionerSettings:
    flags = case["flags"]
    length = flags["volumeNameUUIDLength"]
    return ProvisionerSettings(
        driver=case["driverName"],
        identity=case["identity"],
        plugin_capabilities=frozenset(case["pluginCapabilities"]),
        controller_capabilities=frozenset(case["controllerCapabilities"]),
        mode=ProvisionerMode.COMPATIBLE,
        volume_name_prefix=flags["volumeNamePrefix"],
        volume_name_uuid_length=None if length < 0 else length,
        default_fs_type=flags["defaultFSType"],
        extra_create_metadata=flags["extraCreateMetadata"],
        strict_topology=flags["strictTopology"],
        immediate_topology=flags["immediateTopology"],
        controller_publish_readonly=flags["controllerPublishReadOnly"],
        prevent_volume_mode_conversion=flags["preventVolumeModeConversion"],
        node=_node(case.get("nodeDeployment")),
    )


def _node(given: dict[str, Any] | None) -> NodeDeployment | None:
    if given is None:
        return None
    topology = given["accessibleTopology"]
    return NodeDeployment(
        node_name=given["nodeName"],
        node_id=given["nodeId"],
        segment=None if topology is None else topology["segments"] or {},
        takes_immediate_claims=given["immediateBinding"],
    )


def _world(case: dict[str, Any]) -> World:
    world = World(settings=_settings(case))
    for name, documents in case["objects"].items():
        world.add(name.lower(), *documents or ())
    return world


def _driver(attempt: dict[str, Any]) -> Driver:
    return Driver(
        create=_create_outcome(attempt.get("createVolume") or {}),
        delete=[_delete_outcome(code) for code in attempt.get("deleteVolume") or [""]],
        capacity=_capacity_outcome(attempt.get("getCapacity")),
    )


def _create_outcome(given: dict[str, Any]) -> CreateOutcome:
    if "hangMs" in given:
        return CallFailed(Code.DEADLINE_EXCEEDED)
    if "error" in given:
        return CallFailed(Code(given["error"]))
    made = given["volume"]
    return CreatedVolume(
        volume_id=made["volumeId"],
        capacity_bytes=made.get("capacityBytes", 0),
        context=made.get("volumeContext") or {},
        content_source=_content_source(made.get("contentSource")),
        segments=tuple(t["segments"] or {} for t in made.get("accessibleTopology") or ()),
    )


def _content_source(given: dict[str, str] | None) -> ContentSource | None:
    match given:
        case {"snapshotId": id_}:
            return FromSnapshot(id_)
        case {"volumeId": id_}:
            return FromVolume(id_)
        case _:
            return None


def _delete_outcome(code: str) -> DeleteOutcome:
    return CallFailed(Code(code)) if code else Deleted()


def _capacity_outcome(available: int | None) -> CapacityOutcome:
    return CallFailed(Code.UNIMPLEMENTED) if available is None else CapacityReport(available)


# What the answer shows


def _shown_create(call: CreateVolumeCall, secrets: dict[str, str]) -> Answer:
    return {
        "name": call.name,
        "requiredBytes": call.capacity_bytes,
        "limitBytes": 0,
        "parameters": call.parameters,
        "mutableParameters": call.mutable_parameters,
        "secrets": secrets,
        "volumeCapabilities": [_shown_capability(each) for each in call.capabilities],
        "volumeContentSource": _shown_source(call.content_source),
        "accessibilityRequirements": shown(call.accessibility),
    }


def _shown_capability(capability: VolumeCapability) -> Answer:
    access = capability.access
    if isinstance(access, Block):
        return {"accessMode": capability.access_mode, "block": {}}
    mount = {"fsType": access.fs_type, "mountFlags": list(access.flags)}
    return {"accessMode": capability.access_mode, "mount": mount}


def _shown_source(source: ContentSource | None) -> Answer | None:
    match source:
        case None:
            return None
        case FromSnapshot(id_):
            return {"snapshotId": id_}
        case FromVolume(id_):
            return {"volumeId": id_}
        case _:
            assert_never(source)


def _shown_deletes(calls: list[tuple[DeleteVolumeCall, dict[str, str]]]) -> list[Answer]:
    return [{"volumeId": call.volume_id, "secrets": secrets} for call, secrets in calls]


def _shown_capacity(call: GetCapacityCall) -> Answer:
    return {
        "accessibleTopology": call.segment,
        "numVolumeCapabilities": len(call.capabilities),
        "parameters": call.parameters,
    }


def _shown_events(world: World) -> list[str]:
    return [f"{event['type']} {event['reason']}" for event in world.events]


def _error(failure: ProvisioningFailure, outcome: CreateOutcome | DeleteOutcome) -> str:
    if failure.problem in (Problem.DRIVER_REFUSED, Problem.INFEASIBLE):
        return f"grpc:{outcome.code}" if isinstance(outcome, CallFailed) else "?"
    return PROBLEMS[failure.problem]


# Provisioning


def provision(case: dict[str, Any]) -> Answer:
    world = _world(case)
    key = ObjectKey.parse(case["claim"])
    before = set(world.documents)
    attempts = []
    for given in case["attempts"]:
        _prepare(world, key, given)
        if world.claim(key) is None and world.memory.in_progress is None:
            attempts.append({"skipped": "claim gone and not in progress"})
            continue
        end = world.provision(key)
        attempts.append(_ending(world, end) | _traces(world, key, before))
    return {"attempts": attempts}


def _prepare(world: World, key: ObjectKey, given: dict[str, Any]) -> None:
    claim = world.documents.get((CLAIMS, key))
    if claim is not None and "setSelectedNode" in given:
        annotations = claim["metadata"].setdefault("annotations", {})
        annotations[SELECTED_NODE] = given["setSelectedNode"]
    if given.get("claimDeleted"):
        world.documents.pop((CLAIMS, key), None)
    world.driver = _driver(given)
    world.refuses_volumes = given.get("pvCreateFails", False)
    world.events = []


def _ending(world: World, end: End) -> Answer:
    events = _shown_events(world)
    was_tried = "Normal Provisioning" in events
    answer: Answer = {
        "events": events,
        "provisionCalled": was_tried,
        "requeue": isinstance(end, Refuse | Delay),
        "inProgress": world.memory.in_progress is not None,
        "slowRetry": world.memory.slow_retry is not None,
    }
    match end:
        case Delay():
            answer["error"] = "delayed-infeasible"
        case Refuse(failure=failure) | Reschedule(failure=failure):
            answer["error"] = _error(failure, world.driver.create)
            answer |= {"state": str(failure.state)} if was_tried else {}
        case Ignore(reason=IgnoreReason.POPULATOR):
            answer |= {"error": "ignored", "state": "Finished"}
        case Ignore():
            pass
        case _:
            answer |= {"error": None, "state": "Finished"}
    return answer


def _traces(world: World, key: ObjectKey, before: set[tuple[str, ObjectKey]]) -> Answer:
    created = [_shown_create(*call) for call in world.driver.created]
    volumes = [
        _stored(document)
        for (kind, name), document in world.documents.items()
        if kind == VOLUMES and (kind, name) not in before
    ]
    claim = world.claim(key)
    answer: Answer = {
        "createVolumeRequest": created[0] if created else None,
        "deleteVolumeRequests": _shown_deletes(world.driver.deleted),
        "persistentVolume": volumes[0] if volumes else None,
        "selectedNodeAfter": None if claim is None else claim.annotations.get(SELECTED_NODE),
        "finalizers": dict(_finalizers(world)),
    }
    if world.settings.node is not None:
        asked = [_shown_capacity(call) for call in world.driver.asked]
        answer["getCapacityRequests"] = asked
    return answer


def _stored(document: Document) -> Document:
    return {name: document[name] for name in ("metadata", "spec")}


def _finalizers(world: World) -> list[tuple[str, list[str]]]:
    names = {CLAIMS: "pvc", SNAPSHOTS: "volumesnapshot"}
    return [
        (f"{names[kind]}/{key}", finalizers)
        for (kind, key), document in world.documents.items()
        if kind in names and (finalizers := document["metadata"].get("finalizers"))
    ]


# Deleting


def delete(case: dict[str, Any]) -> Answer:
    world = _world(case)
    name = case["volume"]
    return {"attempts": [_deletion(world, name, given) for given in case["attempts"]]}


def _deletion(world: World, name: str, given: dict[str, Any]) -> Answer:
    place = (VOLUMES, ObjectKey("", name))
    if place not in world.documents:
        return {"skipped": "volume gone"}
    world.driver, world.events, world.writes = (
        _driver(given | {"createVolume": {"error": "Internal"}}),
        [],
        [],
    )
    was = world.documents[place]["metadata"].get("finalizers") or []
    outcome = world.driver.delete[0]
    end = world.delete(name)
    actions = [_action(verb, write, was) for verb, write in world.writes]
    is_retried = isinstance(end, Retry)
    answer: Answer = {
        "deleteVolumeRequests": _shown_deletes(world.driver.deleted),
        "requeue": is_retried,
        "error": _error(end.failure, outcome) if isinstance(end, Retry) else None,
        "events": _shown_events(world),
        "persistentVolumeActions": actions,
        "exists": place in world.documents,
    }
    if place in world.documents:
        metadata = world.documents[place]["metadata"]
        answer["deletionMarked"] = "deletionTimestamp" in metadata
        answer["finalizers"] = sorted(metadata.get("finalizers") or [])
    return answer


def _action(verb: str, write: object, was: list[str]) -> Answer:
    if not isinstance(write, Patch):
        return {"verb": verb}
    return {"verb": verb, "patch": _strategic(was, write.patch["metadata"]["finalizers"] or [])}


def _strategic(was: list[str], becomes: list[str]) -> Document:
    """The real program sends the same change as a difference; an empty list is an absent one."""
    metadata: Document = {"finalizers": becomes or None}
    if was and becomes:
        metadata = {"$setElementOrder/finalizers": becomes}
        if gone := [name for name in was if name not in becomes]:
            metadata["$deleteFromPrimitiveList/finalizers"] = gone
        if new := [name for name in becomes if name not in was]:
            metadata["finalizers"] = new
    return {"metadata": metadata}
