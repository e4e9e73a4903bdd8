"""What `plimsoll node` does for pods, told on hollow nodes: the same code, without mounts."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.simulator.stories.cluster import a_cluster
from plimsoll.simulator.stories.nodes import DRIVER, Nodes, a_bound_claim, driver_object, phase
from plimsoll.simulator.stories.objects import pod, uses
from plimsoll.simulator.stories.scripted_driver import EXPANDS, STAGES
from plimsoll.simulator.stories.workload_objects import job
from plimsoll.wire.csi.refusals import internal, unavailable

IN_AND_OUT = [
    "NodeStageVolume",
    "NodePublishVolume",
    "NodeUnpublishVolume",
    "NodeUnstageVolume",
]
UNIQUE = f"kubernetes.io/csi/{DRIVER}^handle-volume-data"


async def test_a_node_makes_itself_known() -> None:
    async with a_cluster() as cluster:
        nodes = Nodes(cluster, topology={"topology.disk/zone": "a"}, limit=7)
        await nodes.start()
        await cluster.wait(timedelta(seconds=15))
        node = await cluster.get("Node", "node-0")
        labels = node["metadata"]["labels"]
        assert labels["kubernetes.io/hostname"] == "node-0"
        assert labels["kubernetes.io/os"] == "linux"
        assert labels["topology.disk/zone"] == "a"
        assert node["metadata"]["annotations"]["plimsoll.dev/runs-containers"] == "false"
        assert node["status"]["allocatable"]["pods"] == "110"
        conditions = {c["type"]: c["status"] for c in node["status"]["conditions"]}
        assert conditions["Ready"] == "True"
        csi_node = await cluster.get("CSINode", "node-0")
        assert csi_node["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
        assert csi_node["spec"]["drivers"] == [
            {
                "name": DRIVER,
                "nodeID": "node-0",
                "topologyKeys": ["topology.disk/zone"],
                "allocatable": {"count": 7},
            }
        ]
        lease = await cluster.get("Lease", "node-0", "kube-node-lease")
        assert lease["spec"]["holderIdentity"] == "node-0"
        assert lease["metadata"]["ownerReferences"][0]["name"] == "node-0"


async def test_a_node_is_ready_only_when_the_limits_of_its_drivers_are_known() -> None:
    async with a_cluster() as cluster:
        nodes = Nodes(cluster, limit=7)
        nodes.driver.may_tell.clear()
        await nodes.start()
        await cluster.wait(timedelta(seconds=15))
        condition = ready_of(await cluster.get("Node", "node-0"))
        assert (condition["status"], condition["reason"]) == ("False", "KubeletNotReady")
        nodes.driver.may_tell.set()
        await cluster.settle()
        assert ready_of(await cluster.get("Node", "node-0"))["status"] == "True"
        (driver,) = (await cluster.get("CSINode", "node-0"))["spec"]["drivers"]
        assert driver["allocatable"] == {"count": 7}


async def test_a_node_is_ready_without_a_driver_that_refuses() -> None:
    async with a_cluster() as cluster:
        nodes = Nodes(cluster)
        nodes.driver.fail("NodeGetInfo", *[internal("not today")] * 100)
        await nodes.start()
        await cluster.wait(timedelta(seconds=15))
        assert ready_of(await cluster.get("Node", "node-0"))["status"] == "True"


def ready_of(node: dict[str, Any]) -> dict[str, Any]:
    (found,) = (each for each in node["status"]["conditions"] if each["type"] == "Ready")
    return dict(found)


async def test_a_lease_is_renewed_and_the_status_is_left_alone() -> None:
    async with a_cluster() as cluster:
        await Nodes(cluster).start()
        await cluster.wait(timedelta(seconds=15))
        before = await cluster.get("Lease", "node-0", "kube-node-lease")
        node = await cluster.get("Node", "node-0")
        await cluster.wait(timedelta(seconds=60))
        after = await cluster.get("Lease", "node-0", "kube-node-lease")
        assert after["spec"]["renewTime"] > before["spec"]["renewTime"]
        assert await cluster.get("Node", "node-0") == node
        await cluster.wait(timedelta(minutes=6))
        ready = (await cluster.get("Node", "node-0"))["status"]["conditions"][0]
        assert ready["lastHeartbeatTime"] > node["status"]["conditions"][0]["lastHeartbeatTime"]


async def test_a_node_that_is_there_already_is_adopted_with_what_others_wrote() -> None:
    async with a_cluster() as cluster:
        await cluster.add_node("node-0", owner="storage-team")
        other = {"type": "NetworkUnavailable", "status": "False"}
        conditions = {"status": {"conditions": [other]}}
        await cluster.patch("Node", "node-0", conditions, subresource="status")
        await Nodes(cluster).start()
        node = await cluster.get("Node", "node-0")
        assert node["metadata"]["labels"]["owner"] == "storage-team"
        assert {c["type"] for c in node["status"]["conditions"]} >= {"NetworkUnavailable", "Ready"}


async def test_a_deleted_node_comes_back_when_its_process_is_started_again() -> None:
    async with a_cluster() as cluster:
        nodes = Nodes(cluster, topology={"topology.disk/zone": "a"})
        process = await nodes.start()
        await cluster.delete("Node", "node-0")
        await cluster.wait(timedelta(minutes=10))
        assert await cluster.find("Node", "node-0") is None
        await process.kill()
        await nodes.start()
        await cluster.wait(timedelta(seconds=15))
        node = await cluster.get("Node", "node-0")
        assert node["metadata"]["labels"]["topology.disk/zone"] == "a"
        drivers = (await cluster.get("CSINode", "node-0"))["spec"]["drivers"]
        assert [driver["name"] for driver in drivers] == [DRIVER]


async def test_a_pod_gets_its_volume_runs_and_leaves_nothing() -> None:
    async with a_cluster() as cluster:
        nodes = Nodes(cluster)
        await nodes.start()
        await cluster.create(driver_object())
        await a_bound_claim(cluster)
        await cluster.create(pod(volumes=[uses("data")], node="node-0"))
        await cluster.settle()
        found = await cluster.get("Pod", "web")
        assert found["status"]["phase"] == "Running"
        conditions = {c["type"]: c for c in found["status"]["conditions"]}
        ready = {"Initialized", "Ready", "ContainersReady", "PodReadyToStartContainers"}
        assert {t for t, c in conditions.items() if c["status"] == "True"} >= ready
        assert "runs no containers" in conditions["Ready"]["message"]
        assert found["status"]["podIP"].startswith("100.64.")
        assert "running" in found["status"]["containerStatuses"][0]["state"]
        request = nodes.driver.last("NodePublishVolume")
        assert request.volume_id == "handle-volume-data"
        assert request.target_path.endswith("volumes/kubernetes.io~csi/volume-data/mount")
        staged = nodes.driver.last("NodeStageVolume")
        assert request.staging_target_path == staged.staging_target_path
        assert staged.staging_target_path.endswith("/globalmount")

        await cluster.delete("Pod", "web")
        await cluster.settle()
        assert await cluster.find("Pod", "web") is None
        assert nodes.driver.called == IN_AND_OUT


async def test_a_volume_that_the_node_cannot_reach_is_not_mounted_and_the_user_is_told() -> None:
    elsewhere = {
        "required": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
            ]
        }
    }
    async with a_cluster() as cluster:
        nodes = Nodes(cluster)
        await nodes.start()
        await cluster.create(driver_object())
        await a_bound_claim(cluster, affinity=elsewhere)
        await cluster.create(pod(volumes=[uses("data")], node="node-0"))
        await cluster.settle()
        assert await phase(cluster, "web") == "Pending"
        assert nodes.driver.called == []
        ((reason, message),) = await cluster.events("web")
        assert reason == "FailedMount"
        assert message.startswith(
            'MountVolume.NodeAffinity check failed for volume "volume-data" : '
            "no matching NodeSelectorTerms"
        )

        await cluster.patch("Node", "node-0", {"metadata": {"labels": {"zone": "b"}}})
        await cluster.settle()
        assert await phase(cluster, "web") == "Running"


async def test_a_pod_waits_for_its_claim_to_be_bound() -> None:
    async with a_cluster() as cluster:
        nodes = Nodes(cluster)
        await nodes.start()
        await cluster.create(driver_object())
        await cluster.create(pod(volumes=[uses("data")], node="node-0"))
        await cluster.settle()
        assert await phase(cluster, "web") == "Pending"
        message = 'claim "data" of volume "data" does not exist'
        assert ("FailedMount", message) in await cluster.events("web")
        await a_bound_claim(cluster)
        await cluster.settle()
        assert await phase(cluster, "web") == "Running"


async def test_a_device_is_mounted_when_attached_and_detached_when_unmounted() -> None:
    async with a_cluster("attach-detach") as cluster:
        nodes = Nodes(cluster)
        await nodes.start()
        await a_bound_claim(cluster)
        await cluster.create(pod(volumes=[uses("data")], node="node-0"))
        await cluster.settle()
        assert (await cluster.get("Node", "node-0"))["status"]["volumesInUse"] == [UNIQUE]
        assert nodes.driver.called == []
        assert await cluster.events("web") == []
        await cluster.wait(timedelta(seconds=45))
        assert any("is not attached" in text for _, text in await cluster.events("web"))

        (attachment,) = await cluster.all("VolumeAttachment")
        done = {"status": {"attached": True, "attachmentMetadata": {"lun": "3"}}}
        name = attachment["metadata"]["name"]
        await cluster.patch("VolumeAttachment", name, done, subresource="status")
        await cluster.settle()
        assert await phase(cluster, "web") == "Running"
        assert dict(nodes.driver.last("NodeStageVolume").publish_context) == {"lun": "3"}
        assert dict(nodes.driver.last("NodePublishVolume").publish_context) == {"lun": "3"}

        nodes.driver.fail("NodeUnpublishVolume", internal("busy"))
        await cluster.delete("Pod", "web")
        await cluster.clock.run(timedelta(milliseconds=200))
        assert len(await cluster.all("VolumeAttachment")) == 1
        await cluster.settle()
        assert nodes.driver.called[2:] == [
            "NodeUnpublishVolume",
            "NodeUnpublishVolume",
            "NodeUnstageVolume",
        ]
        assert await cluster.find("Pod", "web") is None
        assert "volumesInUse" not in (await cluster.get("Node", "node-0"))["status"]
        assert await cluster.all("VolumeAttachment") == []


async def test_a_volume_stays_staged_as_long_as_another_pod_uses_it() -> None:
    async with a_cluster() as cluster:
        nodes = Nodes(cluster)
        await nodes.start()
        await cluster.create(driver_object())
        await a_bound_claim(cluster)
        for name in ("a", "b"):
            await cluster.create(pod(name, volumes=[uses("data")], node="node-0"))
        await cluster.settle()
        await cluster.delete("Pod", "a")
        await cluster.settle()
        assert "NodeUnstageVolume" not in nodes.driver.called
        await cluster.delete("Pod", "b")
        await cluster.settle()
        assert nodes.driver.called.count("NodeStageVolume") == 1
        assert nodes.driver.called[-1] == "NodeUnstageVolume"


async def test_what_a_driver_refuses_is_told_without_secrets_and_tried_again() -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "key", "namespace": "default"},
        "stringData": {"password": "open sesame"},
    }
    source = {
        "driver": DRIVER,
        "volumeHandle": "handle",
        "fsType": "ext4",
        "nodeStageSecretRef": {"name": "key", "namespace": "default"},
    }
    async with a_cluster() as cluster:
        nodes = Nodes(cluster)
        await nodes.start()
        await cluster.create(driver_object(), secret)
        nodes.driver.fail("NodeStageVolume", internal("cannot log in with 'open sesame'"))
        await a_bound_claim(cluster, csi=source, mountOptions=["noatime"])
        await cluster.create(pod(volumes=[uses("data")], node="node-0"))
        await cluster.settle()
        assert await phase(cluster, "web") == "Running"
        events = await cluster.events("web")
        assert any("cannot log in with '***'" in message for _, message in events)
        assert "sesame" not in str(await cluster.all("Event"))
        request = nodes.driver.last("NodeStageVolume")
        assert dict(request.secrets) == {"password": "open sesame"}
        assert request.volume_capability.mount.fs_type == "ext4"
        assert list(request.volume_capability.mount.mount_flags) == ["noatime"]


async def test_an_inline_volume_lives_with_its_pod() -> None:
    inline = {"name": "scratch", "csi": {"driver": DRIVER, "volumeAttributes": {"size": "1"}}}
    async with a_cluster() as cluster:
        nodes = Nodes(cluster)
        await nodes.start()
        modes = ["Persistent", "Ephemeral"]
        await cluster.create(driver_object(podInfoOnMount=True, volumeLifecycleModes=modes))
        await cluster.create(pod(volumes=[inline], node="node-0"))
        await cluster.settle()
        assert await phase(cluster, "web") == "Running"
        request = nodes.driver.last("NodePublishVolume")
        assert request.volume_id.startswith("csi-")
        context = dict(request.volume_context)
        assert context["size"] == "1"
        assert context["csi.storage.k8s.io/ephemeral"] == "true"
        assert context["csi.storage.k8s.io/pod.name"] == "web"
        await cluster.delete("Pod", "web")
        await cluster.settle()
        assert nodes.driver.called == ["NodePublishVolume", "NodeUnpublishVolume"]


async def test_volumes_that_need_no_driver_do_not_hold_a_pod_up() -> None:
    volumes: list[dict[str, Any]] = [
        {"name": "scratch", "emptyDir": {}},
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "host", "hostPath": {"path": "/srv"}},
    ]
    async with a_cluster() as cluster:
        await Nodes(cluster).start()
        await cluster.create(pod(volumes=volumes, node="node-0"))
        fc = {"name": "old", "fc": {"targetWWNs": ["50060e801049cfd1"], "lun": 0}}
        await cluster.create(pod("old", volumes=[fc], node="node-0"))
        await cluster.settle()
        assert await phase(cluster, "web") == "Running"
        assert await phase(cluster, "old") == "Pending"
        ((_, message),) = await cluster.events("old")
        assert "no support for volumes of this type" in message


async def test_a_pod_that_does_not_fit_is_rejected() -> None:
    async with a_cluster() as cluster:
        await Nodes(cluster).start()
        big = pod("big", node="node-0")
        big["spec"]["containers"] = [
            {"name": "main", "image": "x", "resources": {"requests": {"cpu": "3"}}}
        ]
        await cluster.create(big)
        await cluster.settle()
        more = big | {"metadata": {"name": "more", "namespace": "default"}}
        choosy = pod("choosy", node="node-0")
        choosy["spec"]["nodeSelector"] = {"disk": "fast"}
        await cluster.create(more, choosy)
        await cluster.settle()
        assert await phase(cluster, "big") == "Running"
        found = (await cluster.get("Pod", "more"))["status"]
        assert (found["phase"], found["reason"]) == ("Failed", "OutOfcpu")
        assert "requested: 3000, used: 3000, capacity: 4000" in found["message"]
        found = (await cluster.get("Pod", "choosy"))["status"]
        assert (found["phase"], found["reason"]) == ("Failed", "NodeAffinity")


async def test_a_pod_that_runs_for_a_time_succeeds_and_gives_its_volume_back() -> None:
    async with a_cluster() as cluster:
        nodes = Nodes(cluster)
        await nodes.start()
        await cluster.create(driver_object())
        await a_bound_claim(cluster)
        brief = {"plimsoll.dev/run-for": "10s"}
        await cluster.create(pod(volumes=[uses("data")], node="node-0", annotations=brief))
        await cluster.settle()
        assert await phase(cluster, "web") == "Running"
        await cluster.wait(timedelta(seconds=12))
        assert await phase(cluster, "web") == "Succeeded"
        assert nodes.driver.called == IN_AND_OUT


@pytest.mark.parametrize(
    ("policy", "annotations", "expected"),
    [
        pytest.param("Never", {}, "Succeeded", id="never-restarted"),
        pytest.param("OnFailure", {}, "Succeeded", id="restarted-on-failure"),
        pytest.param("Always", {}, "Running", id="always-restarted"),
        pytest.param("Never", {"plimsoll.dev/run-for": "1h"}, "Running", id="runs-for-an-hour"),
        pytest.param("Never", {"plimsoll.dev/run-for": "forever"}, "Running", id="runs-for-ever"),
        pytest.param("Never", {"plimsoll.dev/run-for": "soon"}, "Running", id="unreadable-time"),
    ],
)
async def test_a_pod_that_is_meant_to_end_succeeds_by_itself(
    policy: str, annotations: dict[str, str], expected: str
) -> None:
    async with a_cluster() as cluster:
        await Nodes(cluster).start()
        made = pod(node="node-0", annotations=annotations)
        made["spec"]["restartPolicy"] = policy
        await cluster.create(made)
        await cluster.wait(timedelta(seconds=10))
        assert await phase(cluster, "web") == expected


async def test_a_job_completes_by_itself() -> None:
    async with a_cluster("job") as cluster:
        await Nodes(cluster).start()
        await cluster.create(job(completions=3, parallelism=2))
        for _ in range(3):
            await cluster.settle()
            for name in await cluster.names("Pod"):
                if not (await cluster.get("Pod", name))["spec"].get("nodeName"):
                    await cluster.bind(name, "node-0")
            await cluster.wait(timedelta(seconds=5))
        status = (await cluster.get("Job", "work"))["status"]
        assert status["succeeded"] == 3
        assert [c["type"] for c in status["conditions"] if c["status"] == "True"] == [
            "SuccessCriteriaMet",
            "Complete",
        ]


async def test_a_volume_that_has_grown_is_expanded_under_its_pod() -> None:
    async with a_cluster() as cluster:
        nodes = Nodes(cluster, capabilities=(STAGES, EXPANDS))
        await nodes.start()
        await cluster.create(driver_object())
        await a_bound_claim(cluster)
        await cluster.create(pod(volumes=[uses("data")], node="node-0"))
        await cluster.settle()
        size = {"spec": {"capacity": {"storage": "2Gi"}}}
        await cluster.patch("PersistentVolume", "volume-data", size)
        pending = {"type": "FileSystemResizePending", "status": "True"}
        waits = {"status": {"conditions": [pending]}}
        await cluster.patch("PersistentVolumeClaim", "data", waits, subresource="status")
        await cluster.settle()
        request = nodes.driver.last("NodeExpandVolume")
        assert request.capacity_range.required_bytes == 2 * 1024**3
        assert request.volume_path.endswith("/mount")
        claim = await cluster.get("PersistentVolumeClaim", "data")
        assert claim["status"]["capacity"] == {"storage": "2Gi"}
        assert "conditions" not in claim["status"]
        assert nodes.driver.called.count("NodeExpandVolume") == 1


async def test_a_driver_that_is_not_ready_is_asked_again() -> None:
    async with a_cluster() as cluster:
        nodes = Nodes(cluster)
        nodes.driver.fail("NodeGetInfo", unavailable("starting"), unavailable("starting"))
        await nodes.start()
        await cluster.wait(timedelta(seconds=10))
        csi_node = await cluster.get("CSINode", "node-0")
        assert [driver["name"] for driver in csi_node["spec"]["drivers"]] == [DRIVER]


async def test_a_driver_that_changes_its_topology_is_refused() -> None:
    async with a_cluster() as cluster:
        await cluster.add_node("node-0", zone="a")
        nodes = Nodes(cluster, topology={"zone": "b"})
        await nodes.start()
        assert await cluster.find("CSINode", "node-0") is None
        assert (await cluster.get("Node", "node-0"))["metadata"]["labels"]["zone"] == "a"


async def test_a_pod_with_a_finalizer_is_ended_once() -> None:
    async with a_cluster() as cluster:
        await Nodes(cluster).start()
        await cluster.create(pod(node="node-0", finalizers=["example.com/wait"]))
        await cluster.settle()
        await cluster.delete("Pod", "web")
        await cluster.settle()
        found = await cluster.get("Pod", "web")
        assert found["status"]["phase"] == "Failed"
        assert found["metadata"]["deletionGracePeriodSeconds"] == 0
        await cluster.wait(timedelta(minutes=5))
        assert await cluster.get("Pod", "web") == found


async def test_many_nodes_live_in_one_process() -> None:
    async with a_cluster() as cluster:
        nodes = Nodes(cluster, 40)
        await nodes.start()
        await cluster.create(driver_object())
        for number in range(40):
            await a_bound_claim(cluster, f"data-{number}")
            name, node = f"web-{number}", f"node-{number}"
            await cluster.create(pod(name, volumes=[uses(f"data-{number}")], node=node))
        await cluster.wait(timedelta(seconds=20))
        assert {p["status"]["phase"] for p in await cluster.all("Pod")} == {"Running"}
        assert len(await cluster.all("CSINode")) == 40
        assert len(await cluster.all("Lease", "kube-node-lease")) == 40
        for node, driver in nodes.drivers.items():
            assert driver.called == ["NodeStageVolume", "NodePublishVolume"], node


async def test_the_metrics_tell_how_many_drivers_are_registered_on_all_nodes() -> None:
    async with a_cluster() as cluster:
        life = await Nodes(cluster, 3).start()
        registry = life.tools.metrics.registry
        assert registry.get_sample_value("plimsoll_node_drivers_registered") == 3.0
