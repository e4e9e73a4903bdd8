"""The command, as a user calls it, against a server of its own with a fault for every pod.

Faults that no rule about nodes finds are in `test_explain_evidence`.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from plimsoll.decide.scheduling.policy import (
    Announcement,
    Policy,
    identity_document,
    identity_lease_name,
)
from plimsoll.simulator.stories.schedulers import (
    HOSTNAME,
    a_claim,
    a_delayed_class,
    a_local_volume,
    a_pod,
)
from plimsoll.ui.cli.explain import explain
from tests.servers import EmbeddedServer

ZONE = "topology.kubernetes.io/zone"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
DRIVER = "disk.example.com"

pytestmark = pytest.mark.xdist_group("explain")

Document = dict[str, Any]

PATHS = {
    "Node": "/api/v1/nodes",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "CSIDriver": "/apis/storage.k8s.io/v1/csidrivers",
    "CSINode": "/apis/storage.k8s.io/v1/csinodes",
    "CSIStorageCapacity": "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
    "PersistentVolumeClaim": "/api/v1/namespaces/default/persistentvolumeclaims",
    "Pod": "/api/v1/namespaces/default/pods",
}


def create(server: EmbeddedServer, *documents: Document) -> None:
    for document in documents:
        code, answer = server.endpoint.request("POST", PATHS[document["kind"]], document)
        assert code == 201, answer.get("message")
        if "status" in document:
            path = f"{PATHS[document['kind']]}/{document['metadata']['name']}/status"
            code, answer = server.endpoint.request(
                "PUT", path, answer | {"status": document["status"]}
            )
            assert code == 200, answer


def a_node(name: str, **spec: Any) -> Document:
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: "a"}},
        "spec": spec,
        "status": {"capacity": room, "allocatable": room},
    }


def a_capacity(class_name: str, size: str) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"capacity-{class_name}"},
        "storageClassName": class_name,
        "capacity": size,
        "nodeTopology": {"matchLabels": {ZONE: "a"}},
    }


def storage(kind: str, name: str, **spec: Any) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def allowed_in(key: str, value: str) -> list[Document]:
    return [{"matchLabelExpressions": [{"key": key, "values": [value]}]}]


def bound_to(volume: str, claim: Document, *modes: str) -> Document:
    claim["spec"]["volumeName"] = volume
    claim["metadata"]["annotations"] = {BIND_COMPLETED: "yes"}
    if modes:
        claim["spec"]["accessModes"] = [*modes]
    return claim


def a_zonal_volume(name: str, **labels: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": DRIVER, "volumeHandle": name},
        },
    }


def on(node: str, name: str, **spec: Any) -> Document:
    return a_pod(name, nodeSelector={HOSTNAME: node}, **spec)


def ephemeral(name: str) -> Document:
    template = {"spec": a_claim()["spec"]}
    pod = on("node-1", name)
    pod["spec"]["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    return pod


def with_claim(name: str, claim: Document) -> list[Document]:
    claim["metadata"]["name"] = name
    return [claim, on("node-1", name, claims=[name])]


def selected(claim: Document, node: str) -> Document:
    claim["metadata"]["annotations"] = {SELECTED_NODE: node}
    return claim


def create_identity(
    server: EmbeddedServer, scheduler: str, profile: Document, namespace: str = "kube-system"
) -> None:
    told = Announcement(
        scheduler_name=scheduler,
        policy=Policy.DEFAULT,
        holder="copy-1",
        began_at=datetime.now(UTC),
        now=datetime.now(UTC),
        profile=json.dumps(profile),
    )
    document = identity_document(told, namespace)
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    code, answer = server.endpoint.request("POST", path, document)
    assert code == 201, answer.get("message")


TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
LIMITED = {
    "name": "limited.example.com",
    "nodeID": "n",
    "topologyKeys": None,
    "allocatable": {"count": 0},
}

FAULTS: dict[str, tuple[str, list[Document]]] = {
    "cpu": ("InsufficientResource", [on("node-1", "cpu", requests={"cpu": "100"})]),
    "taint": ("UntoleratedTaint", [on("tainted", "taint")]),
    "closed": ("NodeUnschedulable", [on("closed", "closed")]),
    "picky": ("NodeAffinityMismatch", [a_pod("picky", nodeSelector={"disk": "none"})]),
    "no-claim": ("ClaimNotFound", [on("node-1", "no-claim", claims=["missing"])]),
    "unbound": ("UnboundImmediateClaim", with_claim("unbound", a_claim(class_name="now"))),
    "no-class": ("ClassNotFound", with_claim("no-class", a_claim(class_name="gone"))),
    "no-disk": ("NoMatchingVolume", with_claim("no-disk", a_claim(class_name="local"))),
    "small": (
        "CapacityTooSmall",
        with_claim("small", a_claim(size="10Gi", class_name="small")),
    ),
    "empty": ("CapacityZero", with_claim("empty", a_claim(class_name="empty"))),
    "silent": ("NoCapacityPublished", with_claim("silent", a_claim(class_name="silent"))),
    "elsewhere": (
        "OutsideAllowedTopologies",
        with_claim("elsewhere", a_claim(class_name="zone-b")),
    ),
    "rackless": ("TopologyKeyMissing", with_claim("rackless", a_claim(class_name="rack-1"))),
    "promised": (
        "SelectedElsewhere",
        with_claim("promised", selected(a_claim(class_name="anywhere"), "node-9")),
    ),
    "far": ("VolumeAffinityConflict", with_claim("far", bound_to("disk-node-9", a_claim()))),
    "lost-volume": ("VolumeNotFound", with_claim("lost-volume", bound_to("gone", a_claim()))),
    "zonal": ("VolumeZoneConflict", with_claim("zonal", bound_to("in-b", a_claim()))),
    "full": ("AttachLimitReached", with_claim("full", a_claim(class_name="limited"))),
    "scratch": ("ClaimNotOwned", [a_claim("scratch-scratch"), ephemeral("scratch")]),
    "alone": (
        "ReadWriteOncePodConflict",
        [
            *with_claim("alone", bound_to("single", a_claim(), "ReadWriteOncePod")),
            a_pod("first", claims=["alone"], nodeName="node-1"),
        ],
    ),
}
WORLD: list[Document] = [
    a_node("node-1"),
    a_node("tainted", taints=[TAINT]),
    a_node("closed", unschedulable=True),
    a_delayed_class(),
    *(a_delayed_class(name, DRIVER) for name in ("small", "empty", "silent")),
    a_delayed_class("anywhere", "other.example.com"),
    a_delayed_class("limited", "limited.example.com"),
    a_delayed_class("zone-b", "other.example.com", allowedTopologies=allowed_in(ZONE, "b")),
    a_delayed_class("rack-1", "other.example.com", allowedTopologies=allowed_in("rack", "1")),
    a_delayed_class("now", "other.example.com", volumeBindingMode="Immediate"),
    storage("CSIDriver", DRIVER, storageCapacity=True),
    storage(
        "CSINode", "node-1", drivers=[LIMITED, LIMITED | {"name": DRIVER, "allocatable": None}]
    ),
    a_capacity("small", "1Gi"),
    a_capacity("empty", "0"),
    a_local_volume("node-9"),
    a_zonal_volume("in-b", **{ZONE: "b"}),
    a_zonal_volume("single"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("server")) as running:
        create(running, *WORLD)
        for _, documents in FAULTS.values():
            create(running, *documents)
        yield running


def run(server: EmbeddedServer, what: str, *flags: str) -> Result:
    return CliRunner().invoke(explain, [what, "--kubeconfig", str(server.kubeconfig), *flags])


def explained(server: EmbeddedServer, what: str, *flags: str) -> Document:
    result = run(server, what, "-o", "json", *flags)
    assert result.exit_code in (0, 1), result.output
    found: Document = json.loads(result.stdout)
    return found


def codes(document: Document) -> set[str]:
    findings = [finding for group in document["groups"] for finding in group["findings"]]
    return {finding["code"] for finding in findings + document["everywhere"]}


@pytest.mark.parametrize("pod", FAULTS)
def test_every_fault_is_told_by_its_code(server: EmbeddedServer, pod: str) -> None:
    expected, _ = FAULTS[pod]
    document = explained(server, f"pod/default/{pod}")
    assert document["state"] == "Unschedulable"
    assert document["isWell"] is False
    assert expected in codes(document)


def test_the_faults_have_different_codes() -> None:
    assert len({expected for expected, _ in FAULTS.values()}) == len(FAULTS) >= 12


def test_a_finding_has_its_numbers_its_object_and_how_old_that_is(server: EmbeddedServer) -> None:
    document = explained(server, "pod/default/small")
    (finding,) = [
        finding
        for group in document["groups"]
        for finding in group["findings"]
        if group["nodes"] == ["node-1"]
    ]
    age = finding["object"].pop("ageSeconds")
    assert 0 <= finding["object"].pop("changedSecondsAgo") <= age < 600
    assert finding == {
        "code": "CapacityTooSmall",
        "rule": "VolumeBinding",
        "message": "node(s) did not have enough free storage",
        "claim": "small",
        "unit": "bytes",
        "wanted": 10 << 30,
        "seen": {"least": 1 << 30, "most": 1 << 30},
        "object": {
            "kind": "CSIStorageCapacity",
            "namespace": "default",
            "name": "capacity-small",
        },
        "occurrences": None,
    }


def test_the_document_has_the_fields_that_are_documented(server: EmbeddedServer) -> None:
    document = explained(server, "pod/default/small")
    assert [*document] == [
        "apiVersion",
        "kind",
        "pod",
        "scheduler",
        "policy",
        "policySource",
        "state",
        "isWell",
        "cause",
        "message",
        "node",
        "nodes",
        "claims",
        "findings",
        "everywhere",
        "groups",
        "heldBack",
        "remedy",
        "remarks",
    ]
    assert document["apiVersion"] == "explain.plimsoll.dev/v1"
    assert document["nodes"] == {"total": 3, "fitting": []}
    assert document["claims"][0]["state"] == "WaitsForNode"


def test_a_pod_is_judged_by_the_rules_of_its_scheduler(server: EmbeddedServer) -> None:
    create(server, a_pod("theirs", schedulerName="default-scheduler"))
    assert explained(server, "pod/default/theirs")["policy"] == "compatible"
    assert explained(server, "pod/default/cpu")["policy"] == "default"
    assert explained(server, "pod/default/cpu", "--policy", "compatible")["policy"] == "compatible"


CARELESS: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "careless",
            "plugins": {
                step: {"disabled": [{"name": "TaintToleration"}]}
                for step in ("filter", "preFilter")
            },
        },
        {"schedulerName": "careful"},
    ],
}


def test_a_pod_is_judged_by_the_profile_of_its_scheduler(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    file = tmp_path / "configuration.yaml"
    file.write_text(yaml.safe_dump(CARELESS))
    create(
        server,
        *(on("tainted", name, schedulerName=name) for name in ("careless", "careful")),
    )

    careless, careful = (
        explained(server, f"pod/default/{name}", "--config", str(file))
        for name in ("careless", "careful")
    )

    assert (careless["state"], careless["node"]) == ("Schedulable", "tainted")
    assert careless["policySource"]["message"].endswith("; by the profile of --config")
    assert codes(careful) == {"UntoleratedTaint", "NodeAffinityMismatch", "NodeUnschedulable"}


def test_a_profile_that_the_scheduler_has_published_counts(server: EmbeddedServer) -> None:
    profile = {"plugins": CARELESS["profiles"][0]["plugins"]}
    create_identity(server, "published", {"profile": profile})
    create(server, on("tainted", "published", schedulerName="published"))

    document = explained(server, "pod/default/published")

    assert (document["state"], document["node"]) == ("Schedulable", "tainted")
    assert "published with a profile by scheduler published" in document["policySource"]["message"]


def test_what_a_tenant_publishes_for_a_scheduler_is_not_believed(server: EmbeddedServer) -> None:
    profile = {"plugins": CARELESS["profiles"][0]["plugins"]}
    create_identity(server, "quiet", {"profile": profile}, namespace="default")
    create(server, on("tainted", "quiet", schedulerName="quiet"))

    document = explained(server, "pod/default/quiet")
    asked = explained(server, "pod/default/quiet", "--record-namespaces", "default")
    # Other tests ask the same server for their remarks.
    lease = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{identity_lease_name('quiet')}"
    server.endpoint.request("DELETE", lease)

    assert document["policySource"]["code"] == "Assumed"
    assert "UntoleratedTaint" in codes(document)
    assert any("default are not believed" in remark for remark in document["remarks"])
    assert (asked["policySource"]["code"], asked["node"]) == ("Published", "tainted")


def test_a_published_profile_of_another_version_is_remarked(server: EmbeddedServer) -> None:
    create_identity(server, "newer", {"planets": 9, "profile": {"planets": 9}})
    create(server, on("tainted", "newer", schedulerName="newer"))

    document = explained(server, "pod/default/newer")

    assert "UntoleratedTaint" in codes(document)
    (remark,) = document["remarks"]
    assert remark.startswith("the profile that scheduler newer has published is not understood")


def test_a_file_that_no_scheduler_would_take_is_bad_usage(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    file = tmp_path / "configuration.yaml"
    file.write_text(yaml.safe_dump({**CARELESS, "extenders": [{"urlPrefix": "http://x"}]}))
    result = run(server, "pod/default/cpu", "--config", str(file))
    assert result.exit_code == 2
    assert "extenders" in result.stderr


def test_room_is_kept_for_pods_to_which_a_node_was_promised(server: EmbeddedServer) -> None:
    waiting = on("node-1", "waiting", schedulerName="promising", requests={"cpu": "2"})
    promised = on("node-1", "promised-to", schedulerName="promising", requests={"cpu": "3"})
    create(server, waiting)
    assert explained(server, "pod/default/waiting")["state"] == "Schedulable"

    create(server, {**promised, "status": {"nominatedNodeName": "node-1"}})

    assert "InsufficientResource" in codes(explained(server, "pod/default/waiting"))
    assert explained(server, "pod/default/promised-to")["node"] == "node-1"


def test_the_table_is_for_people(server: EmbeddedServer) -> None:
    result = run(server, "pod/small")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "Pod default/small (plimsoll, policy default): Unschedulable"
    assert any(
        line.split()[:5] == ["1", "CapacityTooSmall", "small", "10Gi", "1Gi"] for line in lines
    )


def test_the_smallest_change_that_would_help_is_told(server: EmbeddedServer) -> None:
    change = "make claim small anew with at most 1Gi instead of 10Gi"
    assert explained(server, "pod/default/small")["remedy"] == {
        "changes": [change],
        "node": "node-1",
    }
    assert f"Would help: {change}." in run(server, "pod/default/small").stdout
    assert explained(server, "pod/default/no-class")["remedy"] is None


def test_yaml_says_the_same_as_json(server: EmbeddedServer) -> None:
    result = run(server, "pod/default/picky", "-o", "yaml")
    found = yaml.safe_load(result.stdout)
    assert found["message"] == explained(server, "pod/default/picky")["message"]


def test_a_pod_that_could_be_scheduled_is_no_failure(server: EmbeddedServer) -> None:
    create(server, a_pod("fine"))
    result = run(server, "pod/default/fine")
    assert result.exit_code == 0
    assert "node-1 would be taken" in result.stdout


def test_a_claim_is_explained_by_the_pods_that_use_it(server: EmbeddedServer) -> None:
    document = explained(server, "claim/default/small")
    assert document["kind"] == "ClaimExplanation"
    assert document["claim"]["state"] == "WaitsForNode"
    assert [pod["pod"]["name"] for pod in document["pods"]] == ["small"]
    assert codes(document["pods"][0]) == {"CapacityTooSmall"}
    text = run(server, "claim/default/unbound")
    assert text.exit_code == 1
    assert "UnboundImmediateClaim" in text.stdout


def test_what_does_not_exist_or_makes_no_sense_is_said_so(server: EmbeddedServer) -> None:
    missing = run(server, "pod/default/nobody")
    assert (missing.exit_code, "not found" in missing.output) == (1, True)
    assert run(server, "claim/default/nobody").exit_code == 1
    for nonsense in ("pod", "node/x", "pod/a/b/c", "pod/", "pod//x", "deploy"):
        told = run(server, nonsense)
        assert (told.exit_code, "write pod/NAME" in told.output) == (2, True)


def test_nonsense_is_said_so_where_no_cluster_is_configured(tmp_path: Path) -> None:
    told = CliRunner().invoke(explain, ["web", "--kubeconfig", str(tmp_path / "none")])
    assert (told.exit_code, "web: write pod/NAME" in told.output) == (2, True)


def test_the_namespace_comes_from_the_reference_the_option_or_the_context(
    server: EmbeddedServer,
) -> None:
    assert run(server, "pod/small").exit_code == 1
    assert run(server, "pod/small", "-n", "default").exit_code == 1
    elsewhere = run(server, "pod/small", "-n", "kube-system")
    assert (elsewhere.exit_code, "not found" in elsewhere.output) == (1, True)
    contradicted = run(server, "pod/default/small", "-n", "kube-system")
    assert (contradicted.exit_code, "-n says kube-system" in contradicted.output) == (2, True)


def test_without_one_the_namespace_of_the_context_is_meant(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = "kube-system"
    elsewhere = tmp_path / "kubeconfig"
    elsewhere.write_text(yaml.safe_dump(config))
    found = CliRunner().invoke(explain, ["pod/small", "--kubeconfig", str(elsewhere)])
    assert (found.exit_code, "not found" in found.output) == (1, True)


def test_a_missing_class_is_the_cause_and_the_unbound_claim_its_consequence(
    server: EmbeddedServer,
) -> None:
    pod = explained(server, "pod/default/no-class")
    assert [finding["code"] for finding in pod["everywhere"]] == [
        "ClassNotFound",
        "UnboundImmediateClaim",
    ]
    assert pod["cause"]["code"] == "ClassNotFound"
    claim = explained(server, "claim/default/no-class")
    assert claim["cause"]["code"] == "ClassNotFound"


def test_nothing_is_written(server: EmbeddedServer) -> None:
    _, before = server.endpoint.request("GET", PATHS["Pod"])
    run(server, "pod/default/small")
    run(server, "claim/default/small")
    _, after = server.endpoint.request("GET", PATHS["Pod"])
    assert before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
