"""The command, as a user calls it, against a server of its own with something wrong in it.

What the decisions write (objects, templates, leases) is stored there as they write it.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from plimsoll.api.core import Lease
from plimsoll.api.patch import merge_patch
from plimsoll.api.typed import from_document
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.capacity.freshness import PublisherHeartbeat, decide_lease, publisher_lease
from plimsoll.decide.capacity.pools import PublishedPool
from plimsoll.decide.capacity.published import Pair
from plimsoll.decide.capacity.reports import (
    CapacityAnswer,
    CapacitySettings,
    about_segment,
    decide_report,
)
from plimsoll.decide.capacity.segments import segment_of
from plimsoll.decide.capacity.templates import NodeType, decide_templates
from plimsoll.decide.capacity.volume_sizes import Cost
from plimsoll.decide.plan import Create, Patch, Plan
from plimsoll.decide.provisioning.intents import (
    Intent,
    IntentState,
    StoredIntent,
    lease_document,
)
from plimsoll.ui.cli.capacity import capacity
from tests.servers import EmbeddedServer, free_port

DRIVER, HOST = "disk.example.com", "topology.disk.example.com/host"
ZONE = "topology.kubernetes.io/zone"
GIB = 2**30
SETTINGS = CapacitySettings(driver=DRIVER, publisher="external-provisioner", namespace="default")

pytestmark = pytest.mark.xdist_group("capacity")

Document = dict[str, Any]
PATHS = {
    "Pod": "/api/v1/namespaces/default/pods",
    "PersistentVolumeClaim": "/api/v1/namespaces/default/persistentvolumeclaims",
    "Node": "/api/v1/nodes",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "CSIDriver": "/apis/storage.k8s.io/v1/csidrivers",
    "CSIStorageCapacity": "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/default/leases",
}


def create(server: EmbeddedServer, *documents: Document) -> None:
    for document in documents:
        code, answer = server.endpoint.request("POST", PATHS[document["kind"]], document)
        assert code == 201, answer.get("message")


def enact(server: EmbeddedServer, plan: Plan) -> None:
    for write in plan.writes:
        match write:
            case Create(document=document):
                create(server, document)
            case Patch(key=key, patch=patch):
                path = f"{PATHS['Lease']}/{key.name}"
                _, stored = server.endpoint.request("GET", path)
                patched = merge_patch.apply(stored, patch)
                code, answer = server.endpoint.request("PUT", path, patched)
                assert code == 200, answer
            case _:
                raise AssertionError(write)


def a_node(name: str, zone: str) -> Document:
    labels = {HOST: name, ZONE: zone}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def storage(kind: str, name: str, **fields: Any) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        **fields,
    }


def publish(server: EmbeddedServer, host: str, gib: int) -> None:
    pair = Pair(segment_of({HOST: host}), "fast")
    free = {"disk-0": gib * GIB * 3 // 5, "disk-1": gib * GIB * 2 // 5}
    pool = PublishedPool(name=f"{host}/disks", free=free, cost=Cost(copies=2, shares=2))
    answer = CapacityAnswer(gib * GIB, GIB, (pool,))
    enact(server, decide_report(None, answer, about_segment(*pair), SETTINGS))


def heartbeat(server: EmbeddedServer, *, at: datetime, existing: Lease | None = None) -> Lease:
    seen = PublisherHeartbeat(
        holder="provisioner-0", began_at=at, looked_at=at, lasts=timedelta(minutes=2)
    )
    enact(server, decide_lease(existing, seen, SETTINGS))
    code, stored = server.endpoint.request(
        "GET", f"{PATHS['Lease']}/{publisher_lease(SETTINGS).name}"
    )
    assert code == 200, stored
    return from_document(Lease, stored)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("capacity")) as running:
        create(
            running,
            a_node("n1", "a"),
            a_node("n2", "b"),
            storage("CSIDriver", DRIVER, spec={"storageCapacity": True}),
            storage("StorageClass", "fast", provisioner=DRIVER),
            storage("StorageClass", "broken", provisioner=DRIVER),
            storage(
                "CSIStorageCapacity",
                "by-hand",
                storageClassName="broken",
                nodeTopology={"matchLabels": {ZONE: "nowhere"}},
                capacity="1Gi",
                maximumVolumeSize="2Gi",
            ),
        )
        for host, gib in (("n1", 10), ("n2", 20)):
            publish(running, host, gib)
        types = [
            NodeType(name="big", labels={"pool": "big"}, capacity={"fast": CapacityAnswer(GIB)})
        ]
        enact(running, decide_templates(types, ["fast"], (), SETTINGS))
        lease = heartbeat(running, at=datetime.now(UTC) - timedelta(hours=1))
        heartbeat(running, at=datetime.now(UTC), existing=lease)
        yield running


def called(server: EmbeddedServer, *arguments: str) -> Result:
    options = ["--kubeconfig", str(server.endpoint.kubeconfig), *arguments]
    return CliRunner().invoke(capacity, options)


def document(result: Result) -> Document:
    found: Document = json.loads(result.stdout)
    return found


def test_a_table_shows_sizes_publishers_and_what_is_wrong(server: EmbeddedServer) -> None:
    result = called(server)
    assert result.exit_code == 1, result.output
    rows = [line.split() for line in result.stdout.splitlines()]
    fast = next(row for row in rows if f"{HOST}=n1" in row)
    assert fast[:5] == ["fast", f"{HOST}=n1", "1", "10Gi", "1Gi"]
    assert "external-provisioner" in fast
    codes = {row[0]: row[1] for row in rows if row and row[0].startswith("Capacity")}
    assert codes == {
        "CapacityNodesGone": "default/by-hand",
        "CapacityMaximumTooLarge": "default/by-hand",
    }
    assert "Objects: 4, something wrong with 1; classes: 2; nodes: 2." in result.stdout


def test_nothing_wrong_is_exit_code_0(server: EmbeddedServer) -> None:
    result = called(server, "--class", "fast")
    assert result.exit_code == 0, result.output
    assert "Objects: 3, nothing wrong; classes: 1; nodes: 2." in result.stdout


def test_a_tree_shows_hosts_in_their_zones(server: EmbeddedServer) -> None:
    result = called(server, "--tree", "--class", "fast")
    lines = result.stdout.splitlines()
    assert lines[lines.index("zone a") + 1] == "  host n1"
    assert lines[lines.index("zone a") + 2].startswith("    - fast, 10Gi, largest 1Gi, for ")
    assert "nodes that the cluster autoscaler imagines" in lines


def test_pools_show_what_is_free_and_what_classes_take(server: EmbeddedServer) -> None:
    result = called(server, "--pools", "--class", "fast")
    head, *rows = [line.split() for line in result.stdout.splitlines()]
    assert head[:3] == ["POOL", "DRIVER", "FREE"]
    assert rows == [
        ["n1/disks", DRIVER, "10Gi", "6Gi", "2", "fast:", "2x", "on", "2", "extents"],
        ["n2/disks", DRIVER, "20Gi", "12Gi", "2", "fast:", "2x", "on", "2", "extents"],
    ]
    (first, _) = document(called(server, "-o", "json", "--class", "fast"))["pools"]
    assert (first["driver"], first["name"], first["freeBytes"]) == (DRIVER, "n1/disks", 10 * GIB)
    assert first["costs"][0]["copies"] == 2
    assert called(server, "--pools", "--class", "broken").stdout == "No pools are published.\n"


def test_reservations_show_for_whom_room_is_kept(server: EmbeddedServer) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "annotations": {SELECTED_NODE: "n1"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "2Gi"}},
            "storageClassName": "fast",
        },
    }
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    container = {"name": "main", "image": "web"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [container], "volumes": [volume]},
    }
    create(server, claim)
    assert document(called(server, "-o", "json"))["reservations"] == []
    create(server, pod)
    (told,) = document(called(server, "-o", "json"))["reservations"]
    assert (told["claim"]["name"], told["node"], told["pool"]) == ("data", "n1", "n1/disks")
    assert (told["reservedBytes"], told["recorded"]) == (4 * GIB, False)
    intent = Intent(
        driver=DRIVER,
        claim=claim | {"metadata": {"namespace": "default", "name": "data", "uid": "before"}},
        volume_name="pvc-before",
        state=IntentState.UNDOING,
        selected_node="n2",
    )
    create(server, lease_document(StoredIntent(intent=intent), "default"))
    rows = [line.split()[:6] for line in called(server, "--pools").stdout.splitlines()]
    assert ["default/data", "n1", "n1/disks", "4Gi", "decided"] in rows
    assert ["default/data", "n2", "n2/disks", "4Gi", "given", "up"] in rows
    told = document(called(server, "-o", "json"))["reservations"]
    assert [each["givenUp"] for each in told] == [False, True]
    assert document(called(server, "-o", "json", "--class", "broken"))["reservations"] == []


def test_the_document_has_numbers_and_codes(server: EmbeddedServer) -> None:
    found = document(called(server, "-o", "json"))
    assert (found["apiVersion"], found["kind"]) == ("capacity.plimsoll.dev/v1", "CapacityOverview")
    (first,) = (each for each in found["objects"] if each["segment"] == {HOST: "n1"})
    assert (first["capacityBytes"], first["maximumVolumeBytes"]) == (10 * GIB, GIB)
    assert (first["nodes"], first["path"]) == (["n1"], ["zone a", "host n1"])
    assert first["publisher"]["managedBy"] == "external-provisioner"
    assert first["publisher"]["holder"] == "provisioner-0"
    assert first["publisher"]["lookedSecondsAgo"] < 60
    (by_hand,) = (each for each in found["objects"] if each["publisher"] is None)
    assert by_hand["findings"] == [each["code"] for each in found["findings"]]


def test_yaml_says_the_same_as_json(server: EmbeddedServer) -> None:
    shown = yaml.safe_load(called(server, "-o", "yaml", "--class", "broken").stdout)
    told = document(called(server, "-o", "json", "--class", "broken"))
    for each in (*shown["objects"], *told["objects"]):
        each.pop("changedSecondsAgo")
    assert shown == told


def test_a_driver_that_has_published_nothing_is_not_wrong(server: EmbeddedServer) -> None:
    result = called(server, "--driver", "other.example.com")
    said = "No capacity is published by driver other.example.com.\n"
    assert (result.exit_code, result.stdout) == (0, said)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["--class", "nope"], "No capacity is published for class nope.\n", id="table"),
        pytest.param(["--class", "nope", "--pools"], "No pools are published.\n", id="pools"),
    ],
)
def test_a_class_that_does_not_exist_is_said_not_to(
    server: EmbeddedServer, arguments: list[str], told: str
) -> None:
    result = called(server, *arguments)
    assert (result.exit_code, result.stdout) == (0, told)
    assert result.stderr == "remark: there is no class nope\n"


def test_a_class_for_which_nothing_is_published_is_named(server: EmbeddedServer) -> None:
    result = called(server, "--class", "fast", "--driver", "other.example.com")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "No capacity is published by driver other.example.com for class fast.\n"
    )


def test_an_owner_that_is_gone_is_found_out(server: EmbeddedServer) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "gone", "uid": "none"}
    orphan = storage(
        "CSIStorageCapacity",
        "orphan",
        storageClassName="broken",
        nodeTopology={"matchLabels": {ZONE: "a"}},
        capacity="1Gi",
    )
    orphan["metadata"]["ownerReferences"] = [owner]
    create(server, orphan)
    try:
        found = document(called(server, "-o", "json", "--class", "broken"))["findings"]
    finally:
        server.endpoint.request("DELETE", f"{PATHS['CSIStorageCapacity']}/orphan")
    about = [each["code"] for each in found if each["object"]["name"] == "orphan"]
    assert about == ["CapacityOwnerGone"]


def test_a_kubeconfig_that_is_not_there_is_bad_usage() -> None:
    result = CliRunner().invoke(capacity, ["--kubeconfig", "no-such-file"])
    assert result.exit_code == 2


def test_a_server_that_does_not_answer_is_exit_code_1(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "config"
    text = server.endpoint.kubeconfig.read_text()
    elsewhere.write_text(text.replace(f":{server.endpoint.port}", f":{free_port()}"))
    assert CliRunner().invoke(capacity, ["--kubeconfig", str(elsewhere)]).exit_code == 1


def test_a_refused_token_is_told_with_its_origin_and_never_shown(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    config = yaml.safe_load(server.endpoint.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": "secret-token"}
    elsewhere = tmp_path / "config"
    elsewhere.write_text(yaml.safe_dump(config))
    result = CliRunner().invoke(capacity, ["--kubeconfig", str(elsewhere)])
    assert result.exit_code == 1
    address = config["clusters"][0]["cluster"]["server"]
    origin = f"kubeconfig {elsewhere}, context {config['current-context']}"
    assert (
        f"Unauthorized; {address} refuses the credentials of {origin}; renew them, or"
        in result.stderr
    )
    assert "secret-token" not in result.output
