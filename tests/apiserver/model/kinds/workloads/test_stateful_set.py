from collections import Counter
from copy import deepcopy
from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.workloads.stateful_set import RULES
from tests.apiserver.model.kinds.pods.objects import causes
from tests.apiserver.model.kinds.workloads.objects import (
    SELECTOR,
    a_template,
    a_workload,
    stored,
    with_spec,
)

CLAIM: Document = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def a_set(**spec: Any) -> Document:
    spec = {
        "serviceName": "svc",
        "selector": SELECTOR,
        "template": a_template(),
        "volumeClaimTemplates": [CLAIM],
    } | spec
    return a_workload(RULES, "apps", "StatefulSet", **spec)


def complaints(**spec: Any) -> Counter[tuple[str, str]]:
    return causes(RULES.validate(a_set(**spec)))


def refusals(**spec: Any) -> Counter[tuple[str, str]]:
    old = stored(RULES, a_set())
    return causes(RULES.validate_update(with_spec(old, **spec), old))


def test_a_set_gets_what_the_api_promises() -> None:
    spec = a_set()["spec"]

    assert spec["replicas"] == 1
    assert spec["revisionHistoryLimit"] == 10
    assert spec["podManagementPolicy"] == "OrderedReady"
    assert spec["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"partition": 0, "maxUnavailable": 1},
    }
    assert spec["persistentVolumeClaimRetentionPolicy"] == {
        "whenDeleted": "Retain",
        "whenScaled": "Retain",
    }
    assert spec["template"]["spec"]["dnsPolicy"] == "ClusterFirst"


def test_claims_of_a_set_are_shown_as_whole_objects() -> None:
    (claim,) = a_set()["spec"]["volumeClaimTemplates"]

    assert claim == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": CLAIM["spec"] | {"volumeMode": "Filesystem"},
        "status": {"phase": "Pending"},
    }


def test_a_new_set_has_no_replicas_whatever_the_client_says() -> None:
    new = a_set() | {"status": {"replicas": 5}}

    assert stored(RULES, new)["status"] == {"replicas": 0, "availableReplicas": 0}


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param({"selector": {}}, {("Invalid", "spec.selector"): 1}, id="empty-selector"),
        pytest.param(
            {"selector": None},
            {("Required", "spec.selector"): 1, ("Invalid", "spec.template.metadata.labels"): 1},
            id="no-selector",
        ),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": "app", "operator": "Foo"}]}},
            {
                ("Invalid", "spec.selector.matchExpressions[0].operator"): 1,
                ("Invalid", "spec.selector"): 1,
            },
            id="unreadable-selector",
        ),
        pytest.param(
            {"template": a_template(labels={"app": "other"})},
            {("Invalid", "spec.template.metadata.labels"): 1},
            id="selector-of-other-pods",
        ),
        pytest.param(
            {"template": a_template(labels={"app": "web", "x": "a b"})},
            {("Invalid", "spec.template.labels"): 1},
            id="bad-label",
        ),
        pytest.param(
            {"template": a_template(restartPolicy="Never")},
            {("NotSupported", "spec.template.spec.restartPolicy"): 1},
            id="pods-that-end",
        ),
        pytest.param(
            {"template": a_template(activeDeadlineSeconds=5)},
            {("Forbidden", "spec.template.spec.activeDeadlineSeconds"): 1},
            id="pods-with-a-deadline",
        ),
        pytest.param({"replicas": -1}, {("Invalid", "spec.replicas"): 1}, id="replicas"),
        pytest.param(
            {"ordinals": {"start": -1}}, {("Invalid", "spec.ordinals.start"): 1}, id="ord"
        ),
        pytest.param({"serviceName": "B_"}, {("Invalid", "spec.serviceName"): 1}, id="service"),
        pytest.param(
            {"podManagementPolicy": "R"}, {("Invalid", "spec.podManagementPolicy"): 1}, id="policy"
        ),
        pytest.param(
            {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
            {("Invalid", "spec.updateStrategy.rollingUpdate"): 1},
            id="strategy",
        ),
        pytest.param(
            {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0}}},
            {("Invalid", "spec.updateStrategy.rollingUpdate.maxUnavailable"): 1},
            id="no-progress",
        ),
        pytest.param(
            {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Shred"}},
            {("NotSupported", "spec.persistentVolumeClaimRetentionPolicy.whenScaled"): 1},
            id="retention",
        ),
        pytest.param(
            {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]},
            {
                ("Required", "spec.volumeClaimTemplates[0].spec.accessModes"): 1,
                ("Required", "spec.volumeClaimTemplates[0].spec.resources[storage]"): 1,
            },
            id="claim",
        ),
    ],
)
def test_a_faulty_set_is_refused(spec: dict[str, Any], refused: dict[tuple[str, str], int]) -> None:
    assert complaints(**spec) == refused


def test_pods_of_a_set_can_mount_their_claims() -> None:
    container = {"name": "c", "image": "x", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}

    assert not complaints(template=a_template(containers=[container]))


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 5},
        {"minReadySeconds": 5},
        {"ordinals": {"start": 5}},
        {"revisionHistoryLimit": 5},
        {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"}},
        {"updateStrategy": {"type": "OnDelete"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_some_fields_may_change(change: dict[str, Any]) -> None:
    assert not refusals(**change)


@pytest.mark.parametrize(
    "change",
    [{"serviceName": "other"}, {"podManagementPolicy": "Parallel"}, {"volumeClaimTemplates": None}],
    ids=lambda change: next(iter(change)),
)
def test_the_others_may_not(change: dict[str, Any]) -> None:
    assert refusals(**change) == {("Invalid", f"spec.{next(iter(change))}"): 1}


def test_parts_of_the_status_are_not_more_than_the_whole() -> None:
    old = stored(RULES, a_set())
    new = deepcopy(old)
    new["status"] = {"replicas": 1, "readyReplicas": 3, "collisionCount": -1}

    assert causes(RULES.validate_status(new, old)) == {
        ("Invalid", "status.readyReplicas"): 1,
        ("Invalid", "status.collisionCount"): 1,
    }


def test_keeping_all_revisions_is_warned_about() -> None:
    assert len(RULES.warnings(a_set(revisionHistoryLimit=-1), None)) == 1
