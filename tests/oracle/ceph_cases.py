"""Asks `plimsoll.decide.ceph` what ceph-csi decides about nodes, ids and pools."""

from typing import Any

from plimsoll.api.core import Node
from plimsoll.api.typed import from_document
from plimsoll.decide.ceph.compatible_choice import (
    MatchedPool,
    PoolMatchProblem,
    compatible_choice,
    find_constrained_pools,
)
from plimsoll.decide.ceph.constrained_pools import ConstrainedPool
from plimsoll.decide.ceph.crush_locations import crush_location
from plimsoll.decide.ceph.domain_labels import DomainLabelProblem, compatible_topology
from plimsoll.decide.ceph.label_names import compatible_labels
from plimsoll.decide.ceph.volume_ids import (
    CephVolumeId,
    compose_volume_id,
    decompose_volume_id,
)
from plimsoll.decide.provisioning.calls import AccessibilityRequirement

Answer = dict[str, Any]

LABEL_PROBLEMS = {
    DomainLabelProblem.PREFIX_TOO_LONG: "prefix-too-long",
    DomainLabelProblem.DUPLICATE_LABEL: "duplicate-label",
    DomainLabelProblem.MISSING_LABELS: "missing-labels",
    DomainLabelProblem.NODE_NOT_FOUND: "node-lookup-failed",
}
POOL_PROBLEMS = {
    PoolMatchProblem.POOL_NOT_CONFIGURED: "pool-not-configured",
    PoolMatchProblem.NO_POOL_MATCHES: "no-pool-matches-topology",
}
NO_POOL = {"pool": None, "dataPool": None, "topology": None}


def domain_labels(case: dict[str, Any]) -> Answer:
    node = None if case["node"] is None else from_document(Node, case["node"])
    found = compatible_topology(
        case["domainLabels"],
        driver=case["driverName"],
        node=node if node and node.name == case["nodeName"] else None,
    )
    if isinstance(found, DomainLabelProblem):
        return {"error": LABEL_PROBLEMS[found], "topology": None}
    return {"error": None, "topology": found or None}


def crush_locations(case: dict[str, Any]) -> Answer:
    labels = compatible_labels(case["crushLocationLabels"])
    return {"crushLocation": crush_location(labels, case["nodeLabels"]) or None}


def compose(case: dict[str, Any]) -> Answer:
    volume = CephVolumeId(
        cluster_id=case["clusterID"], pool_id=case["locationID"], uuid=case["objectUUID"]
    )
    try:
        return {"error": False, "volumeID": compose_volume_id(volume)}
    except ValueError:
        return {"error": True, "volumeID": None}


def decompose(case: dict[str, Any]) -> Answer:
    try:
        volume = decompose_volume_id(case["volumeID"])
    except ValueError:
        return {"error": True}
    return {
        "error": False,
        "clusterID": volume.cluster_id,
        "encodingVersion": volume.version,
        "locationID": volume.pool_id,
        "objectUUID": volume.uuid,
    }


def topology(case: dict[str, Any]) -> Answer:
    requirement = _requirement(case["accessibilityRequirements"])
    try:
        pools = find_constrained_pools(case["parameters"], requirement)
    except ValueError:
        return {"constrained": False, "error": "pools-json-invalid"}
    if pools is None or requirement is None:
        return {"constrained": False, "error": None} | NO_POOL
    chosen = compatible_choice(pools, requirement, bound_to=case.get("sourceOrExistingPool"))
    return {"constrained": True, "parsedPools": [_shown(pool) for pool in pools]} | _choice(chosen)


def _requirement(given: dict[str, Any] | None) -> AccessibilityRequirement | None:
    if given is None:
        return None
    return AccessibilityRequirement(
        requisite=tuple(item["segments"] for item in given["requisite"]),
        preferred=tuple(item["segments"] for item in given["preferred"]),
    )


def _shown(pool: ConstrainedPool) -> Answer:
    return {
        "poolName": pool.name,
        "dataPool": pool.data_pool,
        "domainSegments": [
            {"domainLabel": label, "value": value} for label, value in pool.segments
        ],
    }


def _choice(chosen: MatchedPool | PoolMatchProblem) -> Answer:
    if isinstance(chosen, PoolMatchProblem):
        return {"error": POOL_PROBLEMS[chosen]} | NO_POOL
    return {
        "error": None,
        "pool": chosen.pool.name,
        "dataPool": chosen.pool.data_pool or None,
        "topology": chosen.segment,
    }
