from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from plimsoll.api.registry import Document, builtin_resources, resources_by_path
from plimsoll.apiserver.model.printing.ages import human_duration
from plimsoll.apiserver.model.printing.tables import (
    partial_metadata,
    partial_metadata_list,
    table,
    without_columns,
)
from tests.apiserver.model.custom.definitions import snapshot_resources

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)
SERVED = (*builtin_resources(), *snapshot_resources())
RESOURCES = {(r.group, r.plural): r for r in SERVED}
META = {"name": "x", "namespace": "ns", "creationTimestamp": "2030-01-01T11:59:55Z"}


def cells(plural: str, document: Document, group: str = "") -> list[Any]:
    shown = table(RESOURCES[group, plural], [{"metadata": META} | document], NOW)
    (row,) = shown["rows"]
    assert len(row["cells"]) == len(shown["columnDefinitions"])
    return list(row["cells"])


@pytest.mark.parametrize(
    ("duration", "shown"),
    [
        (timedelta(seconds=-5), "<invalid>"),
        (timedelta(seconds=-1.5), "0s"),
        (timedelta(seconds=0.9), "0s"),
        (timedelta(seconds=119), "119s"),
        (timedelta(minutes=2), "2m"),
        (timedelta(minutes=3, seconds=2), "3m2s"),
        (timedelta(minutes=10, seconds=30), "10m"),
        (timedelta(minutes=179), "179m"),
        (timedelta(hours=3), "3h"),
        (timedelta(hours=4, minutes=5), "4h5m"),
        (timedelta(hours=8, minutes=5), "8h"),
        (timedelta(hours=47), "47h"),
        (timedelta(days=2), "2d"),
        (timedelta(days=2, hours=3), "2d3h"),
        (timedelta(days=8, hours=3), "8d"),
        (timedelta(days=729), "729d"),
        (timedelta(days=730), "2y"),
        (timedelta(days=740), "2y10d"),
        (timedelta(days=365 * 8 + 100), "8y"),
    ],
    ids=str,
)
def test_durations_have_at_most_two_units(duration: timedelta, shown: str) -> None:
    assert human_duration(duration) == shown


@pytest.mark.parametrize("created", ["", "soon", "2030-01-01", None])
def test_age_is_unknown_without_a_time(created: str | None) -> None:
    document = {"metadata": {"name": "x", "creationTimestamp": created}}
    assert cells("serviceaccounts", document) == ["x", "<unknown>"]


def a_container(name: str = "c", **status: Any) -> Document:
    return {"name": name, "ready": False, "restartCount": 0} | status


def status_of(spec: Document | None = None, meta: Document | None = None, **status: Any) -> str:
    pod = {
        "metadata": META | (meta or {}),
        "spec": {"containers": [{"name": "c"}]} | (spec or {}),
        "status": status,
    }
    return str(cells("pods", pod)[2])


def ended(code: int, **more: Any) -> Document:
    return {"terminated": {"exitCode": code} | more}


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        (
            {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}],
            },
            "SchedulingGated",
        ),
        (
            {"containerStatuses": [a_container(state={"waiting": {"reason": "CrashLoopBackOff"}})]},
            "CrashLoopBackOff",
        ),
        ({"containerStatuses": [a_container(state=ended(3))]}, "ExitCode:3"),
        ({"containerStatuses": [a_container(state=ended(3, signal=9))]}, "Signal:9"),
        ({"containerStatuses": [a_container(state=ended(1, reason="OOMKilled"))]}, "OOMKilled"),
        ({"containerStatuses": [a_container(state=ended(0, reason="Completed"))]}, "Completed"),
        (
            {
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [
                    a_container(state=ended(0, reason="Completed")),
                    a_container("d", ready=True, state={"running": {}}),
                ],
            },
            "Running",
        ),
        (
            {
                "containerStatuses": [
                    a_container(state=ended(0, reason="Completed")),
                    a_container("d", ready=True, state={"running": {}}),
                ],
            },
            "NotReady",
        ),
        (
            {
                "containerStatuses": [
                    a_container(state=ended(0, reason="Completed")),
                    a_container("d", state=ended(2, reason="Error")),
                ],
            },
            "Error",
        ),
    ],
    ids=str,
)
def test_pod_status_is_what_most_needs_to_be_said(status: Document, shown: str) -> None:
    assert status_of(**status) == shown


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ({"running": {}}, "Init:0/2"),
        ({"waiting": {"reason": "PodInitializing"}}, "Init:0/2"),
        ({"waiting": {"reason": "ImagePullBackOff"}}, "Init:ImagePullBackOff"),
        (ended(1), "Init:ExitCode:1"),
        (ended(1, signal=15), "Init:Signal:15"),
        (ended(1, reason="Error"), "Init:Error"),
    ],
    ids=str,
)
def test_pod_that_initializes_says_how_far_it_is(state: Document, shown: str) -> None:
    spec = {"initContainers": [{"name": "i"}, {"name": "j"}]}
    statuses = [a_container("i", state=state), a_container("j")]
    assert status_of(spec, phase="Pending", initContainerStatuses=statuses) == shown


def test_finished_init_containers_do_not_count() -> None:
    spec = {"initContainers": [{"name": "i"}, {"name": "j"}]}
    statuses = [a_container("i", state=ended(0)), a_container("j", state={"running": {}})]
    assert status_of(spec, initContainerStatuses=statuses) == "Init:1/2"


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
        ({"phase": "Succeeded"}, "Succeeded"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
    ],
    ids=str,
)
def test_deleted_pod_is_terminating_unless_it_ended(status: Document, shown: str) -> None:
    assert status_of(meta={"deletionTimestamp": "2030-01-01T12:00:00Z"}, **status) == shown


def test_restarts_tell_when_the_last_one_was() -> None:
    last = {"terminated": {"exitCode": 1, "finishedAt": "2030-01-01T11:57:00Z"}}
    container = a_container(restartCount=5, lastState=last, state={"running": {}})
    pod = {"spec": {"containers": [{}]}, "status": {"containerStatuses": [container]}}
    assert cells("pods", pod)[3] == "5 (3m ago)"


def test_running_sidecar_counts_as_a_container() -> None:
    sidecar = a_container("s", ready=True, started=True, restartCount=2, state={"running": {}})
    pod = {
        "spec": {
            "containers": [{"name": "c"}],
            "initContainers": [{"name": "s", "restartPolicy": "Always"}],
        },
        "status": {
            "phase": "Running",
            "initContainerStatuses": [sidecar],
            "containerStatuses": [a_container(ready=True, state={"running": {}})],
        },
    }
    assert cells("pods", pod)[1:4] == ["2/2", "Running", "2"]


def test_wide_pod_cells_name_places_and_gates() -> None:
    pod = {
        "spec": {
            "nodeName": "n1",
            "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}],
        },
        "status": {
            "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
            "conditions": [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}],
        },
    }
    assert cells("pods", pod)[5:] == ["10.0.0.1", "n1", "<none>", "1/2"]
    assert cells("pods", {})[5:] == ["<none>"] * 4


@pytest.mark.parametrize(("phase", "marked"), [("Succeeded", 1), ("Failed", 1), ("Running", 0)])
def test_row_of_an_ended_pod_is_marked_as_completed(phase: str, marked: int) -> None:
    pod = {"metadata": META, "status": {"phase": phase}}
    (row,) = table(RESOURCES["", "pods"], [pod], NOW)["rows"]
    assert [c["type"] for c in row.get("conditions", ())] == ["Completed"] * marked


@pytest.mark.parametrize(
    ("group", "plural", "document", "shown"),
    [
        (
            "",
            "persistentvolumes",
            {
                "spec": {
                    "capacity": {"storage": "10Gi"},
                    "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce"],
                    "persistentVolumeReclaimPolicy": "Retain",
                    "claimRef": {"namespace": "n", "name": "c"},
                    "storageClassName": "fast",
                    "volumeMode": "Block",
                },
                "status": {"phase": "Failed", "reason": "r"},
            },
            [
                "x",
                "10Gi",
                "RWO,RWX",
                "Retain",
                "Failed",
                "n/c",
                "fast",
                "<unset>",
                "r",
                "5s",
                "Block",
            ],
        ),
        (
            "",
            "persistentvolumeclaims",
            {
                "spec": {"resources": {"requests": {"storage": "1Gi"}}},
                "status": {"phase": "Pending"},
            },
            ["x", "Pending", "", "", "", "", "<unset>", "5s", "<unset>"],
        ),
        (
            "",
            "persistentvolumeclaims",
            {"spec": {"volumeName": "v"}, "status": {"phase": "Lost"}},
            ["x", "Lost", "v", "0", "", "", "<unset>", "5s", "<unset>"],
        ),
        (
            "storage.k8s.io",
            "storageclasses",
            {"provisioner": "d.example.com", "allowVolumeExpansion": True},
            ["x", "d.example.com", "Delete", "Immediate", True, "5s"],
        ),
        (
            "storage.k8s.io",
            "csidrivers",
            {"spec": {"attachRequired": False, "tokenRequests": [{"audience": "a"}, {}]}},
            ["x", False, False, False, "a,", False, "<none>", "5s"],
        ),
        ("storage.k8s.io", "csinodes", {"spec": {"drivers": [{}, {}]}}, ["x", 2, "5s"]),
        ("storage.k8s.io", "csinodes", {"spec": {"drivers": None}}, ["x", 0, "5s"]),
        ("storage.k8s.io", "csistoragecapacities", {}, ["x", META["creationTimestamp"]]),
        (
            "storage.k8s.io",
            "volumeattachments",
            {"spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}}},
            ["x", "d", "v", "n", False, "5s"],
        ),
        ("storage.k8s.io", "volumeattributesclasses", {"driverName": "d"}, ["x", "d", "5s"]),
        ("", "configmaps", {"data": {"a": "1"}, "binaryData": {"b": "AA=="}}, ["x", 2, "5s"]),
        ("", "secrets", {"type": "Opaque", "data": {"a": "MQ=="}}, ["x", "Opaque", 1, "5s"]),
        ("", "namespaces", {"status": {"phase": "Active"}}, ["x", "Active", "5s"]),
        ("", "serviceaccounts", {}, ["x", "5s"]),
        (
            "",
            "services",
            {
                "spec": {
                    "type": "NodePort",
                    "clusterIPs": ["10.0.0.1"],
                    "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}],
                    "selector": {"b": "2", "a": "1"},
                }
            },
            ["x", "NodePort", "10.0.0.1", "<none>", "80:30080/TCP", "5s", "a=1,b=2"],
        ),
        (
            "",
            "endpoints",
            {
                "subsets": [
                    {
                        "addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
                        "ports": [{"port": 80}, {"port": 81}],
                    }
                ]
            },
            ["x", "10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 1 more...", "5s"],
        ),
        (
            "",
            "resourcequotas",
            {
                "status": {
                    "hard": {"requests.storage": "10Gi", "limits.cpu": "2", "pods": "5"},
                    "used": {"pods": "1"},
                }
            },
            ["x", "pods: 1/5, requests.storage: 0/10Gi", "limits.cpu: 0/2", "5s"],
        ),
        (
            "apps",
            "statefulsets",
            {
                "spec": {
                    "replicas": 3,
                    "template": {"spec": {"containers": [{"name": "a", "image": "i"}] * 2}},
                },
                "status": {"readyReplicas": 1},
            },
            ["x", "1/3", "5s", "a,a", "i,i"],
        ),
        (
            "apps",
            "deployments",
            {"spec": {"replicas": 3}, "status": {"updatedReplicas": 2}},
            ["x", "0/3", 2, 0, "5s", "", "", ""],
        ),
        (
            "apps",
            "replicasets",
            {
                "spec": {
                    "replicas": 1,
                    "selector": {
                        "matchLabels": {"b": "1"},
                        "matchExpressions": [
                            {"key": "a", "operator": "NotIn", "values": ["z", "y"]},
                            {"key": "c", "operator": "Exists"},
                            {"key": "d", "operator": "DoesNotExist"},
                        ],
                    },
                }
            },
            ["x", 1, 0, 0, "5s", "", "", "a notin (y,z),b=1,c,!d"],
        ),
        (
            "apps",
            "controllerrevisions",
            {
                "metadata": META
                | {
                    "ownerReferences": [
                        {
                            "apiVersion": "apps/v1",
                            "kind": "StatefulSet",
                            "name": "web",
                            "controller": True,
                        }
                    ]
                },
                "revision": 3,
            },
            ["x", "statefulset.apps/web", 3, "5s"],
        ),
        (
            "batch",
            "jobs",
            {
                "spec": {"completions": 3},
                "status": {
                    "succeeded": 1,
                    "startTime": "2030-01-01T11:59:50Z",
                    "conditions": [{"type": "Suspended", "status": "True"}],
                },
            },
            ["x", "Suspended", "1/3", "10s", "5s", "", "", "<none>"],
        ),
        (
            "policy",
            "poddisruptionbudgets",
            {"spec": {"minAvailable": 1}, "status": {"disruptionsAllowed": 2}},
            ["x", "1", "N/A", 2, "5s"],
        ),
        (
            "scheduling.k8s.io",
            "priorityclasses",
            {"value": 7, "preemptionPolicy": "Never"},
            ["x", 7, False, "5s", "Never"],
        ),
        ("coordination.k8s.io", "leases", {"spec": {"holderIdentity": "me"}}, ["x", "me", "5s"]),
        (
            "rbac.authorization.k8s.io",
            "rolebindings",
            {
                "roleRef": {"kind": "Role", "name": "r"},
                "subjects": [
                    {"kind": "User", "name": "u"},
                    {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
                ],
            },
            ["x", "Role/r", "5s", "u", "", "n/s"],
        ),
        ("rbac.authorization.k8s.io", "roles", {}, ["x", META["creationTimestamp"]]),
        (
            "resource.k8s.io",
            "resourceclaims",
            {"status": {"allocation": {"devices": {}}, "reservedFor": [{}]}},
            ["x", "allocated,reserved", "5s"],
        ),
    ],
    ids=str,
)
def test_cells_of_a_kind(group: str, plural: str, document: Document, shown: list[Any]) -> None:
    assert cells(plural, document, group) == shown


def test_default_class_is_marked() -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    document = {"metadata": META | {"annotations": annotations}, "provisioner": "d"}
    assert cells("storageclasses", document, "storage.k8s.io")[0] == "x (default)"


@pytest.mark.parametrize("plural", ["persistentvolumes", "persistentvolumeclaims"])
def test_volume_and_claim_that_go_away_say_so(plural: str) -> None:
    document = {"metadata": META | {"deletionTimestamp": "2030-01-01T12:00:00Z"}}
    assert "Terminating" in cells(plural, document)


def test_node_cells_tell_condition_roles_and_addresses() -> None:
    node = {
        "metadata": META
        | {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "a"}},
        "spec": {"unschedulable": True},
        "status": {
            "conditions": [{"type": "Ready", "status": "Unknown"}],
            "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}],
            "nodeInfo": {"kubeletVersion": "v1", "kernelVersion": "6", "architecture": "amd64"},
        },
    }
    assert cells("nodes", node) == [
        "x",
        "NotReady,SchedulingDisabled",
        "a,worker",
        "5s",
        "v1",
        "1.2.3.4",
        "<none>",
        "<unknown>",
        "6 (amd64)",
        "<unknown>",
    ]


def test_both_groups_show_an_event_alike() -> None:
    core = {
        "type": "Warning",
        "reason": "Failed",
        "message": " no room\n",
        "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
        "source": {"component": "scheduler", "host": "n1"},
        "firstTimestamp": "2030-01-01T11:59:00Z",
        "lastTimestamp": "2030-01-01T11:59:50Z",
        "count": 3,
    }
    new = {
        "type": "Warning",
        "reason": "Failed",
        "note": " no room\n",
        "regarding": core["involvedObject"],
        "deprecatedSource": core["source"],
        "deprecatedFirstTimestamp": core["firstTimestamp"],
        "deprecatedLastTimestamp": core["lastTimestamp"],
        "deprecatedCount": 3,
    }
    shown = ["10s", "Warning", "Failed", "pod/p", "spec", "scheduler, n1", "no room", "60s", 3, "x"]
    assert cells("events", core) == shown
    assert cells("events", new, "events.k8s.io") == shown


def test_event_series_tells_when_it_was_last_seen_and_how_often() -> None:
    event = {
        "eventTime": "2030-01-01T11:59:00.000000Z",
        "series": {"count": 9, "lastObservedTime": "2030-01-01T11:59:59.000000Z"},
        "regarding": {"kind": "Node"},
        "reportingController": "me",
    }
    shown = cells("events", event, "events.k8s.io")
    assert (shown[0], shown[3], shown[5], shown[7], shown[8]) == ("1s", "node", "me", "60s", 9)


def test_snapshots_show_what_is_missing_as_nothing() -> None:
    group = "snapshot.storage.k8s.io"
    snapshot = {
        "metadata": META,
        "spec": {"source": {"persistentVolumeClaimName": "data"}},
        "status": {"readyToUse": False},
    }
    shown = cells("volumesnapshots", snapshot, group)
    assert shown[1:8] == [False, "data", None, None, None, None, None]
    content = {
        "metadata": META,
        "spec": {"driver": "d", "deletionPolicy": "Delete", "volumeSnapshotRef": {"name": "s"}},
        "status": {"restoreSize": 10, "readyToUse": True},
    }
    shown = cells("volumesnapshotcontents", content, group)
    assert shown[1:8] == [True, 10, "Delete", "d", None, "s", None]
    class_ = {"metadata": META, "driver": "d", "deletionPolicy": "Retain"}
    assert cells("volumesnapshotclasses", class_, group)[1:3] == ["d", "Retain"]


@pytest.mark.parametrize("resource", SERVED, ids=lambda r: f"{r.plural}.{r.version}")
def test_every_kind_fills_its_columns_even_when_the_object_is_bare(resource: Any) -> None:
    shown = table(resource, [{"metadata": {"name": "x"}}], NOW)
    assert len(shown["rows"][0]["cells"]) == len(shown["columnDefinitions"])


def test_row_carries_as_much_of_the_object_as_was_asked_for() -> None:
    document = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": META, "data": {}}
    resource = resources_by_path()["", "v1", "configmaps"]
    metadata = table(resource, [document], NOW, version="v1beta1")["rows"][0]["object"]
    assert metadata == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1beta1",
        "metadata": META,
    }
    assert table(resource, [document], NOW, "Object")["rows"][0]["object"] == document
    assert table(resource, [document], NOW, "None")["rows"][0]["object"] is None


def test_later_events_of_a_watch_have_no_columns() -> None:
    full = table(RESOURCES["", "pods"], [], NOW)
    assert full["rows"] == []
    assert without_columns(full)["columnDefinitions"] is None


def test_metadata_list_of_nothing_has_null_items() -> None:
    document = {"kind": "Pod", "metadata": META}
    assert partial_metadata_list([])["items"] is None
    assert partial_metadata_list([document])["items"] == [partial_metadata(document)]


@pytest.mark.parametrize(
    ("conditions", "certificate", "shown"),
    [
        ((), "", "Pending"),
        (("Approved",), "", "Approved"),
        (("Approved",), "Zm9v", "Approved,Issued"),
        (("Approved", "Failed"), "", "Approved,Failed"),
        (("Approved", "Denied"), "", "Denied"),
    ],
)
def test_a_request_for_a_certificate_shows_who_asks_and_what_was_decided(
    conditions: tuple[str, ...], certificate: str, shown: str
) -> None:
    request = {
        "spec": {"signerName": "a.b/c", "username": "jane", "expirationSeconds": 3600},
        "status": {
            "conditions": [{"type": name, "status": "True"} for name in conditions],
            "certificate": certificate,
        },
    }
    found = cells("certificatesigningrequests", request, "certificates.k8s.io")
    assert found == ["x", "5s", "a.b/c", "jane", "60m", shown]


ADMISSION = "admissionregistration.k8s.io"
PARAMETERS = {"name": "p", "namespace": "ns", "parameterNotFoundAction": "Deny"}


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        pytest.param(None, "<unset>", id="none"),
        pytest.param(PARAMETERS, "ns/p", id="one-object"),
        pytest.param({"name": "p"}, "*/p", id="of-any-namespace"),
        pytest.param({"selector": {"matchLabels": {"a": "b"}}}, "a=b", id="selected"),
    ],
)
def test_a_binding_of_a_policy_shows_its_parameters(reference: Document | None, shown: str) -> None:
    spec = {"policyName": "v"} | ({} if reference is None else {"paramRef": reference})
    row = cells("validatingadmissionpolicybindings", {"spec": spec}, ADMISSION)
    assert row == ["x", "v", shown, "5s"]


def test_a_policy_shows_how_many_rules_it_has_and_what_its_parameters_are() -> None:
    spec = {"validations": [{"expression": "true"}]}
    kind = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    plural = "validatingadmissionpolicies"
    assert cells(plural, {"spec": spec}, ADMISSION) == ["x", 1, "<unset>", "5s"]
    assert cells(plural, {"spec": spec | kind}, ADMISSION) == ["x", 1, "v1/ConfigMap", "5s"]


@pytest.mark.parametrize("kind", ["mutating", "validating"])
def test_a_configuration_shows_how_many_webhooks_it_has(kind: str) -> None:
    row = cells(f"{kind}webhookconfigurations", {"webhooks": [{}, {}]}, ADMISSION)
    assert row == ["x", 2, "5s"]


def metric(kind: str, holder: str, **fields: Any) -> Document:
    return {"type": kind, holder: fields}


@pytest.mark.parametrize(
    ("wanted", "found", "shown"),
    [
        pytest.param([], [], "<none>", id="nothing"),
        pytest.param(
            [metric("Resource", "resource", name="cpu", target={"averageUtilization": 60})],
            [metric("Resource", "resource", name="cpu", current={"averageUtilization": 0})],
            "cpu: 0%/60%",
            id="of-the-request",
        ),
        pytest.param(
            [metric("Resource", "resource", name="memory", target={"averageValue": "5Mi"})],
            [],
            "memory: <unknown>/5Mi",
            id="on-average",
        ),
        pytest.param(
            [metric("ContainerResource", "containerResource", name="cpu", target={})],
            [],
            "cpu: <unknown>/<auto>",
            id="of-a-container",
        ),
        pytest.param(
            [
                metric("Pods", "pods", target={"averageValue": "5"}),
                metric("Object", "object", target={"averageValue": "7"}),
                metric("External", "external", target={"value": "9"}),
            ],
            [metric("Pods", "pods", current={"averageValue": "3"})],
            "3/5, <unknown>/7 (avg) + 1 more...",
            id="more-than-two",
        ),
        pytest.param(
            [metric("External", "external", target={"value": "9"})],
            [metric("External", "external", current={"value": "8"})],
            "8/9",
            id="from-outside",
        ),
        pytest.param([{"type": "Moon"}], [], "<unknown type>", id="unknown"),
    ],
)
def test_an_autoscaler_shows_what_it_looks_at(
    wanted: list[Document], found: list[Document], shown: str
) -> None:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 5}
    document = {
        "spec": spec | {"minReplicas": 2, "metrics": wanted},
        "status": {"currentMetrics": found or None, "currentReplicas": 3},
    }
    row = cells("horizontalpodautoscalers", document, "autoscaling")
    assert row == ["x", "Deployment/web", shown, "2", 5, 3, "5s"]


def test_an_autoscaler_of_the_older_version_looks_at_processors_alone() -> None:
    document = {
        "spec": {"maxReplicas": 5, "targetCPUUtilizationPercentage": 70},
        "status": {"currentCPUUtilizationPercentage": 10},
    }
    row = cells("horizontalpodautoscalers", document, "autoscaling")
    assert row == ["x", "/", "cpu: 10%/70%", "<unset>", 5, 0, "5s"]


FLOWS = "flowcontrol.apiserver.k8s.io"


def test_flow_schemas_and_priority_levels_show_how_requests_wait() -> None:
    spec = {"priorityLevelConfiguration": {"name": "low"}, "matchingPrecedence": 9}
    by_user = {"distinguisherMethod": {"type": "ByUser"}}
    dangling = {"conditions": [{"type": "Dangling", "status": "True"}]}
    first = cells("flowschemas", {"spec": spec}, FLOWS)
    second = cells("flowschemas", {"spec": spec | by_user, "status": dangling}, FLOWS)
    assert first == ["x", "low", 9, "<none>", "5s", "?"]
    assert second == ["x", "low", 9, "ByUser", "5s", "True"]
    queuing = {"queues": 8, "handSize": 2, "queueLengthLimit": 5}
    limited = {"nominalConcurrencyShares": 3, "limitResponse": {"queuing": queuing}}
    level = {"spec": {"type": "Limited", "limited": limited}}
    plural, exempt = "prioritylevelconfigurations", {"spec": {"type": "Exempt"}}
    assert cells(plural, level, FLOWS) == ["x", "Limited", 3, 8, 2, 5, "5s"]
    assert cells(plural, exempt, FLOWS) == ["x", "Exempt", *["<none>"] * 4, "5s"]


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        pytest.param(None, "Unknown", id="nobody-has-looked"),
        pytest.param({"status": "True", "reason": "Passed"}, "True", id="available"),
        pytest.param({"status": "False", "reason": "Gone"}, "False (Gone)", id="with-a-reason"),
        pytest.param({"status": "False"}, "False", id="without-a-reason"),
    ],
)
def test_an_api_service_shows_whether_it_is_there(condition: Document | None, shown: str) -> None:
    conditions = [] if condition is None else [{"type": "Available"} | condition]
    document = {"spec": {"service": {"namespace": "a", "name": "b"}}}
    row = cells(
        "apiservices", document | {"status": {"conditions": conditions}}, "apiregistration.k8s.io"
    )
    assert row == ["x", "a/b", shown, "5s"]
    assert cells("apiservices", {"spec": {}}, "apiregistration.k8s.io")[1] == "Local"


def test_a_range_of_services_shows_its_addresses() -> None:
    row = cells("servicecidrs", {"spec": {"cidrs": ["10.0.0.0/24"]}}, "networking.k8s.io")
    assert row == ["x", "10.0.0.0/24", "5s"]


@pytest.mark.parametrize(
    ("parent", "shown"),
    [
        pytest.param(None, "<none>", id="none"),
        pytest.param(
            {"resource": "services", "namespace": "a", "name": "b"}, "services/a/b", id="service"
        ),
        pytest.param(
            {"group": "x.io", "resource": "Hosts", "name": "b"}, "hosts.x.io/b", id="of-a-group"
        ),
    ],
)
def test_an_address_shows_whose_it_is(parent: Document | None, shown: str) -> None:
    spec = {} if parent is None else {"parentRef": parent}
    assert cells("ipaddresses", {"spec": spec}, "networking.k8s.io") == ["x", shown]
