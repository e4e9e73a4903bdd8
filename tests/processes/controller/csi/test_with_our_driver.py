"""The loops with `plimsoll driver` and `plimsoll provisioner`, as programs of their own.

One life of a volume: made, snapshotted, restored, grown, modified, attached, and deleted again,
with a driver that is killed in the middle. In the end the driver has nothing left.
"""

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from tests.servers import EmbeddedServer, Endpoint, plimsoll

DRIVER = "pools.plimsoll.dev"
LOOPS = "binding,claim-protection,volume-protection,attach-detach,csi-attacher,resizer,snapshotter"
POOLS = """
pools:
- name: only
  size: 10Gi
  topology: {zone: a}
"""
ZONE = f"topology.{DRIVER}/zone"
SECONDS = 60
STORAGE, SNAPSHOTS = "storage.k8s.io/v1", "snapshot.storage.k8s.io/v1"
IN_DEFAULT = "namespaces/default"


@contextlib.contextmanager
def running(*arguments: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as file:
        process = subprocess.Popen([plimsoll(), *arguments], stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=20)


class Cluster:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def create(self, path: str, kind: str, name: str, **body: Any) -> None:
        group = path.rpartition(f"/{IN_DEFAULT}")[0] or path.rpartition("/")[0]
        version = group.removeprefix("/apis/").removeprefix("/api/")
        document = {"apiVersion": version, "kind": kind, "metadata": {"name": name}} | body
        code, answer = self._endpoint.request("POST", path, document)
        assert code == 201, answer

    def get(self, path: str) -> Any:
        code, answer = self._endpoint.request("GET", path)
        assert code == 200, answer
        return answer

    def change(self, path: str, change: Callable[[Any], None]) -> None:
        """Read, change, write: again for as long as another writer is faster."""
        for _ in range(10):
            document = self.get(path)
            change(document)
            code, answer = self._endpoint.request("PUT", path, document)
            if code == 200:
                return
            assert code == 409, answer
        raise AssertionError(f"{path} never stands still")

    def delete(self, path: str) -> None:
        code, answer = self._endpoint.request("DELETE", path)
        assert code in (200, 202), answer

    def wait_for(self, path: str, check: Callable[[Any], bool]) -> Any:
        deadline = time.monotonic() + SECONDS
        while True:
            found = self.get(path)
            if check(found):
                return found
            if time.monotonic() > deadline:
                events = self.get(f"{CORE}/events")["items"]
                said = [(e["reason"], e["message"]) for e in events]
                raise AssertionError(f"{path} is still {found}; events: {said}")
            time.sleep(0.05)


CORE = f"/api/v1/{IN_DEFAULT}"
CLAIMS, PODS = f"{CORE}/persistentvolumeclaims", f"{CORE}/pods"
SNAPS = f"/apis/{SNAPSHOTS}/{IN_DEFAULT}/volumesnapshots"


def is_bound(claim: Any) -> bool:
    return bool(claim["status"].get("phase") == "Bound")


def is_ready(snapshot: Any) -> bool:
    return snapshot.get("status", {}).get("readyToUse") is True


def claim_spec(size: str = "1Gi", **more: Any) -> dict[str, Any]:
    resources = {"requests": {"storage": size}}
    modes = ["ReadWriteOnce"]
    return {"storageClassName": "pool", "accessModes": modes, "resources": resources} | more


def prepare(cluster: Cluster) -> None:
    cluster.create(
        f"/apis/{STORAGE}/storageclasses",
        "StorageClass",
        "pool",
        provisioner=DRIVER,
        allowVolumeExpansion=True,
    )
    cluster.create(
        f"/apis/{SNAPSHOTS}/volumesnapshotclasses",
        "VolumeSnapshotClass",
        "snap",
        driver=DRIVER,
        deletionPolicy="Delete",
    )
    cluster.create(
        f"/apis/{STORAGE}/volumeattributesclasses",
        "VolumeAttributesClass",
        "gold",
        driverName=DRIVER,
        parameters={"iops": "9000"},
    )
    labelled = {"name": "node-1", "labels": {ZONE: "a"}}
    cluster.create("/api/v1/nodes", "Node", "node-1", metadata=labelled)
    driver = {"name": DRIVER, "nodeID": "node-1", "topologyKeys": [ZONE]}
    cluster.create(f"/apis/{STORAGE}/csinodes", "CSINode", "node-1", spec={"drivers": [driver]})


def live(cluster: Cluster, restart_driver: Callable[[], None]) -> None:
    cluster.create(CLAIMS, "PersistentVolumeClaim", "data", spec=claim_spec())
    cluster.wait_for(f"{CLAIMS}/data", is_bound)

    source = {"persistentVolumeClaimName": "data"}
    spec = {"source": source, "volumeSnapshotClassName": "snap"}
    cluster.create(SNAPS, "VolumeSnapshot", "first", spec=spec)
    snapshot = cluster.wait_for(f"{SNAPS}/first", is_ready)
    assert snapshot["status"]["restoreSize"] == "1Gi"

    restart_driver()
    reference = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "first"}
    spec = claim_spec(dataSource=reference)
    cluster.create(CLAIMS, "PersistentVolumeClaim", "copy", spec=spec)
    cluster.wait_for(f"{CLAIMS}/copy", is_bound)

    def ask_for_more(claim: Any) -> None:
        claim["spec"]["resources"]["requests"]["storage"] = "2Gi"
        claim["spec"]["volumeAttributesClassName"] = "gold"

    cluster.change(f"{CLAIMS}/data", ask_for_more)
    claim = cluster.wait_for(
        f"{CLAIMS}/data",
        lambda found: (
            found["status"].get("currentVolumeAttributesClassName") == "gold"
            and found["status"].get("allocatedResources") == {"storage": "2Gi"}
            and found["status"].get("allocatedResourceStatuses", {}).get("storage")
            != "ControllerResizeInProgress"
        ),
    )
    volume = cluster.get(f"/api/v1/persistentvolumes/{claim['spec']['volumeName']}")
    assert volume["spec"]["capacity"] == {"storage": "2Gi"}

    container = {"name": "main", "image": "none"}
    uses = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    pod = {"nodeName": "node-1", "containers": [container], "volumes": [uses]}
    cluster.create(PODS, "Pod", "web", spec=pod)
    attachments = f"/apis/{STORAGE}/volumeattachments"
    cluster.wait_for(
        attachments, lambda found: [a["status"]["attached"] for a in found["items"]] == [True]
    )
    cluster.delete(f"{PODS}/web?gracePeriodSeconds=0")
    cluster.wait_for(attachments, lambda found: found["items"] == [])

    cluster.delete(f"{SNAPS}/first")
    cluster.delete(f"{CLAIMS}/data")
    cluster.delete(f"{CLAIMS}/copy")
    for path in (SNAPS, f"/apis/{SNAPSHOTS}/volumesnapshotcontents", "/api/v1/persistentvolumes"):
        cluster.wait_for(path, lambda found: found["items"] == [])


async def left_in(socket: Path) -> tuple[int, int]:
    """Volumes and snapshots that the driver still has."""
    client = CsiClient(GrpcTransport(f"unix:{socket}"))
    try:
        volumes = await client.call(methods.LIST_VOLUMES, csi.ListVolumesRequest())
        snapshots = await client.call(methods.LIST_SNAPSHOTS, csi.ListSnapshotsRequest())
    finally:
        await client.close()
    return len(volumes.entries), len(snapshots.entries)


@pytest.mark.timeout(300)
async def test_a_volume_lives_and_leaves_nothing_behind(tmp_path: Path) -> None:
    socket, pools = tmp_path / "csi.sock", tmp_path / "pools.yaml"
    pools.write_text(POOLS)
    driver = (
        *("driver", "--backend", "pools", "--pools", str(pools), "--mounts", "none"),
        *("--endpoint", f"unix://{socket}", "--node-id", "node-1"),
        *("--topology", "zone=a"),
        *("--data-dir", str(tmp_path / "driver")),
    )
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(EmbeddedServer(tmp_path))
        common = ("--kubeconfig", str(server.kubeconfig))
        controller = (
            *("controller", *common, "--controllers", LOOPS, "--csi-address", str(socket)),
            *("--no-leader-elect", "--metrics-port", "0", "--data-dir", str(tmp_path / "c")),
        )
        stack.enter_context(running(*controller, log=tmp_path / "controller.log"))
        drivers = [stack.enter_context(running(*driver, log=tmp_path / "driver.log"))]
        provisioner = ("provisioner", *common, "--csi-address", str(socket))
        retry = ("--retry-interval-start", "250ms", "--snapshot-orphan-sweep-interval", "1s")
        logs = tmp_path / "provisioner.log"
        provisioners = [stack.enter_context(running(*provisioner, *retry, log=logs))]
        cluster = Cluster(server.endpoint)
        prepare(cluster)

        def restart_driver() -> None:
            drivers[-1].kill()
            drivers[-1].wait()
            drivers.append(stack.enter_context(running(*driver, log=tmp_path / "driver.log")))
            # A provisioner ends with its driver, and is started again by its supervisor.
            provisioners[-1].terminate()
            provisioners.append(stack.enter_context(running(*provisioner, *retry, log=logs)))

        live(cluster, restart_driver)
        assert await left_in(socket) == (0, 0)
