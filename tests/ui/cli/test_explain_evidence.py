"""What no rule about nodes finds: one seeded fault each, told by its code, with exit code 1.

The objects are those that provisioners, schedulers, kubelets and controllers leave behind.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from plimsoll.simulator.stories.schedulers import HOSTNAME, a_claim, a_delayed_class, a_pod
from plimsoll.ui.cli.explain import explain
from tests.servers import EmbeddedServer

pytestmark = pytest.mark.xdist_group("explain")

Document = dict[str, Any]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
DRIVER, STOPPED, TRACKED = "disk.example.com", "stopped.example.com", "tracked.example.com"
CORE, STORAGE = "/api/v1", "/apis/storage.k8s.io/v1"
PATHS = {
    "Node": f"{CORE}/nodes",
    "PersistentVolume": f"{CORE}/persistentvolumes",
    "PersistentVolumeClaim": f"{CORE}/namespaces/default/persistentvolumeclaims",
    "Pod": f"{CORE}/namespaces/default/pods",
    "Event": f"{CORE}/namespaces/default/events",
    "StorageClass": f"{STORAGE}/storageclasses",
    "CSIDriver": f"{STORAGE}/csidrivers",
    "CSINode": f"{STORAGE}/csinodes",
    "CSIStorageCapacity": f"{STORAGE}/namespaces/default/csistoragecapacities",
    "VolumeAttachment": f"{STORAGE}/volumeattachments",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    "StatefulSet": "/apis/apps/v1/namespaces/default/statefulsets",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/default/replicasets",
    "VolumeSnapshot": "/apis/snapshot.storage.k8s.io/v1/namespaces/default/volumesnapshots",
}
OUT_OF_ROOM = (
    'failed to provision volume with StorageClass "fast": rpc error: code = ResourceExhausted '
    "desc = no room in zone a"
)


def create(server: EmbeddedServer, document: Document) -> Document:
    """With its status, which the server takes apart from the rest."""
    namespace = document["metadata"].get("namespace", "default")
    path = PATHS[document["kind"]].replace("/default/", f"/{namespace}/")
    code, answer = server.endpoint.request("POST", path, document)
    assert code == 201, answer.get("message")
    if "status" in document:
        path = f"{path}/{document['metadata']['name']}/status"
        code, answer = server.endpoint.request("PUT", path, answer | {"status": document["status"]})
        assert code == 200, answer
    created: Document = answer
    return created


def ago(**duration: float) -> str:
    return f"{datetime.now(UTC) - timedelta(**duration):%Y-%m-%dT%H:%M:%S.%f}Z"


def warn(server: EmbeddedServer, about: Document, reason: str, message: str) -> None:
    """As a recorder of client-go writes it: seven times within the last minutes."""
    metadata = about["metadata"]
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name']}.{len(message)}", "namespace": "default"},
        "involvedObject": {
            "kind": about["kind"],
            "namespace": "default",
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
        "type": "Warning",
        "reason": reason,
        "message": message,
        "count": 7,
        "firstTimestamp": ago(minutes=9)[:19] + "Z",
        "lastTimestamp": ago(seconds=30)[:19] + "Z",
    }
    create(server, event)


def a_node(name: str, *, ready: str = "True") -> Document:
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": ready, "message": "told by the test"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name}},
        "status": {"capacity": room, "allocatable": room, "conditions": conditions},
    }


def a_lease(name: str, *, age: timedelta, **metadata: Any) -> Document:
    """One that is renewed lasts for as long as any test may take."""
    lasts = 15 if age > timedelta(minutes=1) else 3600
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, **metadata},
        "spec": {
            "holderIdentity": "somewhere",
            "leaseDurationSeconds": lasts,
            "renewTime": ago(seconds=age.total_seconds()),
        },
    }


def a_driver(name: str, *, tracks: bool) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": name},
        "spec": {"storageCapacity": tracks},
    }


def a_csi_node(*drivers: str) -> Document:
    entries = [{"name": d, "nodeID": "n", "topologyKeys": [HOSTNAME]} for d in drivers]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": "node-1"},
        "spec": {"drivers": entries},
    }


def a_capacity(class_name: str, driver: str) -> Document:
    labels = {
        "csi.storage.k8s.io/drivername": driver,
        "csi.storage.k8s.io/managed-by": "external-provisioner",
    }
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"capacity-{class_name}", "labels": labels},
        "storageClassName": class_name,
        "capacity": "100Gi",
        "nodeTopology": {"matchLabels": {HOSTNAME: "node-1"}},
    }


def publisher_lease(driver: str, *, age: timedelta) -> Document:
    labels = {
        "plimsoll.dev/lease": "capacity",
        "csi.storage.k8s.io/drivername": driver,
        "csi.storage.k8s.io/managed-by": "external-provisioner",
    }
    return a_lease(f"publisher-{driver}", age=age, labels=labels)


def handed_over(claim: Document, node: str = "node-1", driver: str = DRIVER) -> Document:
    claim["metadata"]["annotations"] = {SELECTED_NODE: node, STORAGE_PROVISIONER: driver}
    return claim


def waiting(
    server: EmbeddedServer, name: str, claim: Document, **spec: Any
) -> tuple[Document, Document]:
    """A claim and the pod that waits for it, both of this name."""
    claim["metadata"]["name"] = name
    claim["spec"] |= spec
    return create(server, claim), create(server, a_pod(name, claims=[name]))


def on_its_node(server: EmbeddedServer, name: str, node: str = "node-1") -> Document:
    """A pod with its node, a claim that is bound, and the volume."""
    claim = a_claim(class_name="fast")
    claim["metadata"] |= {"name": name, "annotations": {BIND_COMPLETED: "yes"}}
    claim["spec"]["volumeName"] = f"volume-{name}"
    create(server, claim)
    create(
        server,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"volume-{name}"},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "fast",
                "csi": {"driver": DRIVER, "volumeHandle": name},
            },
        },
    )
    return create(server, a_pod(name, claims=[name], nodeName=node))


def attachment(name: str, node: str, **status: Any) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": f"attachment-{name}-{node}"},
        "spec": {
            "attacher": DRIVER,
            "nodeName": node,
            "source": {"persistentVolumeName": f"volume-{name}"},
        },
        "status": {"attached": False, **status},
    }


def copy_of(kind: str, name: str) -> Document:
    source = {"kind": kind, "name": name}
    if kind == "VolumeSnapshot":
        source["apiGroup"] = "snapshot.storage.k8s.io"
    return {"dataSource": source}


# One fault each


def refused(server: EmbeddedServer) -> None:
    claim, _ = waiting(server, "refused", handed_over(a_claim(class_name="fast")))
    warn(server, claim, "ProvisioningFailed", OUT_OF_ROOM)


def failing(server: EmbeddedServer) -> None:
    claim, _ = waiting(server, "failing", handed_over(a_claim(class_name="fast")))
    message = "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    warn(server, claim, "ProvisioningFailed", message)


def no_topology(server: EmbeddedServer) -> None:
    claim, _ = waiting(server, "no-topology", handed_over(a_claim(class_name="fast")))
    message = "error generating accessibility requirements: topology labels from selected node"
    warn(server, claim, "ProvisioningFailed", message)


def wrong_mode(server: EmbeddedServer) -> None:
    claim, _ = waiting(
        server,
        "wrong-mode",
        handed_over(a_claim(class_name="fast")),
        accessModes=["ReadWriteMany"],
    )
    message = "rpc error: code = InvalidArgument desc = unsupported access mode"
    warn(server, claim, "ProvisioningFailed", message)


def no_clone_source(server: EmbeddedServer) -> None:
    waiting(server, "no-clone-source", a_claim(class_name="fast"), **copy_of(CLAIM, "gone"))


def unready_clone_source(server: EmbeddedServer) -> None:
    create(server, a_claim("unbound-source", class_name="fast"))
    source = copy_of(CLAIM, "unbound-source")
    waiting(server, "unready-clone-source", a_claim(class_name="fast"), **source)


def no_snapshot(server: EmbeddedServer) -> None:
    waiting(server, "no-snapshot", a_claim(class_name="fast"), **copy_of("VolumeSnapshot", "gone"))


def unready_snapshot(server: EmbeddedServer) -> None:
    create(
        server,
        {
            "apiVersion": "snapshot.storage.k8s.io/v1",
            "kind": "VolumeSnapshot",
            "metadata": {"name": "unready"},
            "spec": {"source": {"persistentVolumeClaimName": "somewhere"}},
            "status": {"readyToUse": False, "error": {"message": "the driver is busy"}},
        },
    )
    source = copy_of("VolumeSnapshot", "unready")
    waiting(server, "unready-snapshot", a_claim(class_name="fast"), **source)


def stopped(server: EmbeddedServer) -> None:
    waiting(server, "stopped", handed_over(a_claim(class_name="stopped"), driver=STOPPED))


def stale(server: EmbeddedServer) -> None:
    waiting(server, "stale", a_claim(class_name="tracked"))


def node_gone(server: EmbeddedServer) -> None:
    waiting(server, "node-gone", handed_over(a_claim(class_name="fast"), node="node-9"))


def unmountable(server: EmbeddedServer) -> None:
    pod = on_its_node(server, "unmountable")
    message = 'MountVolume.SetUp failed for volume "volume-unmountable" : rpc error: no such device'
    warn(server, pod, "FailedMount", message)


def unattachable(server: EmbeddedServer) -> None:
    on_its_node(server, "unattachable")
    error = {"message": "too many volumes", "time": ago(seconds=20)[:19] + "Z"}
    create(server, attachment("unattachable", "node-1", attachError=error))


def undetachable(server: EmbeddedServer) -> None:
    on_its_node(server, "undetachable")
    error = {"message": "still mounted", "time": ago(seconds=20)[:19] + "Z"}
    create(server, attachment("undetachable", "node-2", attached=True, detachError=error))


def on_a_gone_node(server: EmbeddedServer) -> None:
    on_its_node(server, "on-a-gone-node", node="node-9")


def on_a_dead_node(server: EmbeddedServer) -> None:
    on_its_node(server, "on-a-dead-node", node="dead")


def unheard(server: EmbeddedServer) -> None:
    pod = create(server, a_pod("unheard"))
    warn(server, pod, "FailedScheduling", "0/1 nodes are available: 1 node(s) were not liked.")


def without_a_scheduler(server: EmbeddedServer) -> None:
    create(server, a_pod("without-a-scheduler", schedulerName="dead-scheduler"))


CLAIM = "PersistentVolumeClaim"
FAULTS: dict[str, tuple[str, Callable[[EmbeddedServer], None]]] = {
    "refused": ("ProvisionerRefused", refused),
    "failing": ("ProvisioningFailed", failing),
    "no-topology": ("ProvisionerRefused", no_topology),
    "wrong-mode": ("ProvisionerRefused", wrong_mode),
    "no-clone-source": ("DataSourceNotFound", no_clone_source),
    "unready-clone-source": ("DataSourceNotReady", unready_clone_source),
    "no-snapshot": ("DataSourceNotFound", no_snapshot),
    "unready-snapshot": ("DataSourceNotReady", unready_snapshot),
    "stopped": ("ProvisionerStopped", stopped),
    "stale": ("CapacityStale", stale),
    "node-gone": ("NodeGone", node_gone),
    "unmountable": ("MountFailed", unmountable),
    "unattachable": ("MountFailed", unattachable),
    "undetachable": ("MountFailed", undetachable),
    "on-a-gone-node": ("NodeGone", on_a_gone_node),
    "on-a-dead-node": ("NodeNotReady", on_a_dead_node),
    "unheard": ("SchedulingFailed", unheard),
    "without-a-scheduler": ("SchedulerStopped", without_a_scheduler),
}
WORLD: list[Document] = [
    a_node("node-1"),
    a_node("node-2"),
    a_node("dead", ready="Unknown"),
    a_delayed_class("fast", DRIVER),
    a_delayed_class("stopped", STOPPED),
    a_delayed_class("tracked", TRACKED),
    a_driver(TRACKED, tracks=True),
    a_csi_node(DRIVER, STOPPED, TRACKED),
    a_capacity("tracked", TRACKED),
    a_lease("stopped-example-com", age=timedelta(minutes=10)),
    publisher_lease(TRACKED, age=timedelta(minutes=10)),
    # Another copy of the same provisioner leads: it is only its capacity that is old.
    a_lease("tracked-example-com", age=timedelta(seconds=1)),
    a_lease(
        "dead-scheduler",
        age=timedelta(minutes=10),
        namespace="kube-system",
        labels={"plimsoll.dev/lease": "scheduler"},
        annotations={
            "plimsoll.dev/scheduler-name": "dead-scheduler",
            "plimsoll.dev/policy": "default",
        },
    ),
    a_lease(
        "our-default-scheduler",
        age=timedelta(seconds=1),
        namespace="kube-system",
        labels={"plimsoll.dev/lease": "scheduler"},
        annotations={
            "plimsoll.dev/scheduler-name": "default-scheduler",
            "plimsoll.dev/policy": "default",
        },
    ),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("server")) as running:
        for document in WORLD:
            create(running, document)
        for _, seed in FAULTS.values():
            seed(running)
        yield running


def run(server: EmbeddedServer, what: str, *flags: str) -> Result:
    return CliRunner().invoke(explain, [what, "--kubeconfig", str(server.kubeconfig), *flags])


def explained(server: EmbeddedServer, what: str, *flags: str) -> tuple[int, Document]:
    result = run(server, what, "-o", "json", *flags)
    assert result.exit_code in (0, 1), result.output
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize("pod", FAULTS)
def test_every_fault_is_told_as_the_cause_and_by_the_exit_code(
    server: EmbeddedServer, pod: str
) -> None:
    expected, _ = FAULTS[pod]
    code, document = explained(server, f"pod/{pod}")
    assert (document["cause"] or {}).get("code") == expected
    assert (code, document["isWell"]) == (1, False)
    assert f"Cause: {expected}" in run(server, f"pod/{pod}").stdout


@pytest.mark.parametrize(
    "claim",
    [
        name
        for name, (code, _) in FAULTS.items()
        if code.startswith(("Provision", "DataSource", "Capacity")) or name == "node-gone"
    ],
)
def test_the_claim_tells_the_same_as_its_pod(server: EmbeddedServer, claim: str) -> None:
    expected, _ = FAULTS[claim]
    code, document = explained(server, f"claim/{claim}")
    assert (code, document["cause"]["code"]) == (1, expected)


def test_an_event_is_told_with_its_text_its_count_and_its_age(server: EmbeddedServer) -> None:
    _, document = explained(server, "pod/refused")
    (finding,) = document["findings"]
    occurrences = finding.pop("occurrences")
    assert occurrences["count"] == 7
    assert occurrences["firstSecondsAgo"] > 500
    assert 20 < occurrences["lastSecondsAgo"] < occurrences["firstSecondsAgo"]
    seen = finding.pop("object")
    assert (seen["kind"], seen["namespace"]) == ("Event", "default")
    assert finding == {
        "code": "ProvisionerRefused",
        "rule": "Provisioning",
        "message": OUT_OF_ROOM,
        "claim": "refused",
        "unit": "bytes",
        "wanted": 1 << 30,
        "seen": None,
    }


def test_a_pod_is_judged_by_the_policy_that_its_scheduler_published(
    server: EmbeddedServer,
) -> None:
    create(server, a_pod("ours-by-default", schedulerName="default-scheduler"))
    code, document = explained(server, "pod/ours-by-default")
    assert (code, document["policy"]) == (0, "default")
    assert document["policySource"]["code"] == "Published"
    assert "kube-system/our-default-scheduler" in document["policySource"]["message"]
    _, asked = explained(server, "pod/ours-by-default", "--policy", "compatible")
    assert (asked["policy"], asked["policySource"]["code"]) == ("compatible", "Asked")


def test_a_running_pod_is_well_whatever_its_old_events_say(server: EmbeddedServer) -> None:
    pod = on_its_node(server, "running")
    warn(server, pod, "FailedMount", "MountVolume.SetUp failed")
    path = f"{PATHS['Pod']}/running/status"
    status, answer = server.endpoint.request("PUT", path, pod | {"status": {"phase": "Running"}})
    assert status == 200, answer
    result = run(server, "pod/running")
    assert result.exit_code == 0
    assert "The pod runs on node node-1, with all its volumes." in result.stdout


def test_what_events_say_cannot_write_to_the_terminal(server: EmbeddedServer) -> None:
    claim, _ = waiting(server, "hostile", handed_over(a_claim(class_name="fast")))
    warn(server, claim, "ProvisioningFailed", "no\x1b[2J\x1b]0;owned\x07\nCODE fake")
    result = run(server, "pod/hostile")
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout


# Workloads


def template(claim: str) -> Document:
    labels = {"app": claim}
    spec = a_pod("unused", claims=[claim])["spec"]
    return {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": spec},
    }


def owned(name: str, owner: Document, claim: str) -> Document:
    pod = a_pod(name, claims=[claim])
    pod["metadata"]["ownerReferences"] = [reference_to(owner)]
    return pod


def reference_to(owner: Document) -> Document:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }


def workload(server: EmbeddedServer, kind: str, name: str, **more: Any) -> Document:
    document: Document = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, **more},
        "spec": template("refused"),
    }
    if kind == "StatefulSet":
        document["spec"]["serviceName"] = name
    return create(server, document)


def test_the_pods_of_a_stateful_set_with_the_same_answer_are_told_once(
    server: EmbeddedServer,
) -> None:
    database = workload(server, "StatefulSet", "db")
    for name in ("db-0", "db-1"):
        create(server, owned(name, database, "refused"))
    code, document = explained(server, "sts/db")
    assert (code, document["kind"]) == (1, "WorkloadExplanation")
    (group,) = document["groups"]
    assert group["pods"] == ["db-0", "db-1"]
    assert group["example"]["cause"]["code"] == "ProvisionerRefused"
    assert "2 pods with the same answer: db-0, db-1" in run(server, "statefulset/db").stdout


def test_the_pods_of_a_deployment_are_found_through_its_replica_sets(
    server: EmbeddedServer,
) -> None:
    web = workload(server, "Deployment", "web")
    replicas = workload(server, "ReplicaSet", "web-1", ownerReferences=[reference_to(web)])
    for name in ("web-1-x", "web-1-y"):
        create(server, owned(name, replicas, "failing"))
    code, document = explained(server, "deployment/web")
    assert (code, document["pods"]) == (1, {"wanted": 2, "total": 2})
    assert document["groups"][0]["example"]["cause"]["code"] == "ProvisioningFailed"


def test_a_workload_without_pods_tells_why_from_its_events(server: EmbeddedServer) -> None:
    empty = workload(server, "StatefulSet", "empty")
    warn(server, empty, "FailedCreate", "pods are forbidden: exceeded quota")
    code, document = explained(server, "sts/empty")
    (finding,) = document["findings"]
    assert (code, finding["code"]) == (1, "PodsMissing")
    assert finding["message"] == "pods are forbidden: exceeded quota"


def test_a_workload_without_pods_and_events_is_not_well(server: EmbeddedServer) -> None:
    workload(server, "StatefulSet", "silent")
    code, document = explained(server, "sts/silent")
    assert (code, document["findings"][0]["code"]) == (1, "PodsMissing")
    assert "no condition or event says why" in document["findings"][0]["message"]


def test_yaml_says_the_same(server: EmbeddedServer) -> None:
    result = run(server, "pod/refused", "-o", "yaml")
    assert yaml.safe_load(result.stdout)["cause"]["code"] == "ProvisionerRefused"
