"""What becomes of volumes whose claims are gone."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    DeleteRequest,
    ProvisionerError,
    Trouble,
)
from plimsoll.processes.controller.in_process.provisioners.simulated_cloud import SimulatedCloud
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim, pod, uses, volume
from plimsoll.simulator.stories.provisioners import (
    HOST_PATH,
    MOODY,
    Moody,
    a_class,
    binding,
    host_path,
    zonal,
)
from plimsoll.simulator.stories.refusing_transport import asked
from plimsoll.wire.transport import Request

PROTECTION = ("claim-protection", "volume-protection")
BUSY = ProvisionerError(Trouble.IN_USE, "disk is attached to node-1")
BROKEN = ProvisionerError(Trouble.TRY_AGAIN, "the store is on fire")


async def provisioned(cluster: StoryCluster, provisioner: str, **fields: Any) -> Document:
    """The volume of the claim `data`."""
    await cluster.create(a_class(provisioner, **fields), claim())
    await cluster.settle()
    [made] = await cluster.all("PersistentVolume")
    assert made["status"]["phase"] == "Bound"
    return made


async def test_a_deleted_claim_takes_its_volume_and_its_data_along() -> None:
    moody = Moody()
    async with a_cluster(*PROTECTION, more=binding(moody)) as cluster:
        await provisioned(cluster, MOODY)
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        assert await cluster.names("PersistentVolume") == []
        assert (moody.made, moody.deleted) == (1, 1)


async def test_of_many_volumes_that_go_at_once_each_is_deleted_once() -> None:
    asked: list[str] = []

    class Listening(Moody):
        async def delete(self, request: DeleteRequest) -> None:
            asked.append(request.volume_name)
            await super().delete(request)

    async with a_cluster(*PROTECTION, more=binding(Listening())) as cluster:
        names = [f"c{number}" for number in range(30)]
        await cluster.create(a_class(MOODY), *map(claim, names))
        await cluster.settle()
        for name in names:
            await cluster.delete("PersistentVolumeClaim", name)
        await cluster.settle()
        assert await cluster.names("PersistentVolume") == []
        assert len(asked) == len(set(asked)) == len(names)


async def test_while_the_server_does_not_answer_it_is_asked_less_and_less_often() -> None:
    async with a_cluster() as cluster:
        failing: set[tuple[str, str]] = set()
        questions: list[tuple[str, str]] = []

        def fails(request: Request) -> int:
            questions.extend({asked(request)} & failing)
            return 503 if asked(request) in failing else 0

        moody = Moody()
        await cluster.start(*PROTECTION, more=binding(moody), rule=fails)
        await provisioned(cluster, MOODY)
        failing.add(("get", "persistentvolumeclaims"))
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(minutes=5))
        before = len(questions)
        await cluster.wait(timedelta(minutes=5))
        assert len(questions) - before < before < 60
        assert len(moody.assets) == 1, "the data stay while the claim may be there"


async def test_the_class_may_be_gone_by_then() -> None:
    moody = Moody()
    async with a_cluster(*PROTECTION, more=binding(moody)) as cluster:
        await provisioned(cluster, MOODY)
        await cluster.delete("StorageClass", "fast")
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        assert await cluster.names("PersistentVolume") == []
        assert moody.assets == set()


async def test_retained_data_stay() -> None:
    moody = Moody()
    async with a_cluster(*PROTECTION, more=binding(moody)) as cluster:
        made = await provisioned(cluster, MOODY, reclaimPolicy="Retain")
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(minutes=2))
        kept = await cluster.get("PersistentVolume", made["metadata"]["name"])
        assert kept["status"]["phase"] == "Released"
        assert moody.deleted == 0


async def test_a_failed_deletion_is_told_once_and_tried_again() -> None:
    moody = Moody(deletion_moods=[BROKEN] * 3)
    async with a_cluster(*PROTECTION, more=binding(moody)) as cluster:
        made = await provisioned(cluster, MOODY)
        name = made["metadata"]["name"]
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(milliseconds=300))
        failed = await cluster.get("PersistentVolume", name)
        assert failed["status"]["phase"] == "Failed"
        assert failed["status"]["message"] == "the store is on fire"
        await cluster.wait(timedelta(minutes=1))
        assert await cluster.names("PersistentVolume") == []
        assert (await cluster.events(name)) == [("VolumeFailedDelete", "the store is on fire")]


async def test_a_volume_in_use_is_not_a_failure_only_too_early() -> None:
    moody = Moody(deletion_moods=[BUSY, BUSY])
    async with a_cluster(*PROTECTION, more=binding(moody)) as cluster:
        name = (await provisioned(cluster, MOODY))["metadata"]["name"]
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(milliseconds=300))
        assert (await cluster.get("PersistentVolume", name))["status"]["phase"] == "Released"
        assert ("VolumeDelete", "disk is attached to node-1") in await cluster.events(name)
        await cluster.wait(timedelta(minutes=1))
        assert await cluster.names("PersistentVolume") == []


async def test_data_are_kept_while_a_pod_or_a_node_uses_them() -> None:
    """A user has taken the claim away from under a pod that runs."""
    moody = Moody()
    attachment: Document = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": "held"},
        "spec": {"attacher": "disk.example.com", "nodeName": "node-1", "source": {}},
    }
    async with a_cluster(more=binding(moody)) as cluster:
        name = (await provisioned(cluster, MOODY))["metadata"]["name"]
        attachment["spec"]["source"] = {"persistentVolumeName": name}
        await cluster.create(attachment, pod(volumes=[uses("data")], node="node-1"))
        await cluster.mark_running("web")
        await cluster.patch("PersistentVolumeClaim", "data", {"metadata": {"finalizers": None}})
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(minutes=5))
        assert moody.deleted == 0
        message = "Volume is still used by pod default/web, node node-1"
        assert ("VolumeDelete", message) in await cluster.events(name)

        await cluster.delete("Pod", "web", grace=0)
        await cluster.wait(timedelta(minutes=5))
        assert moody.deleted == 0
        await cluster.delete("VolumeAttachment", "held")
        await cluster.wait(timedelta(minutes=5))
        assert moody.deleted == 1


async def test_a_volume_of_another_maker_is_left_to_them() -> None:
    moody = Moody()
    foreign = {"pv.kubernetes.io/provisioned-by": "disk.example.com"}
    async with a_cluster(*PROTECTION, more=binding(moody)) as cluster:
        await cluster.create(volume(annotations=foreign), claim())
        await cluster.settle()
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(minutes=1))
        found = await cluster.get("PersistentVolume", "volume-1")
        assert found["status"]["phase"] == "Released"
        assert await cluster.events("volume-1") == []


async def test_a_deleted_volume_waits_for_its_claim_then_goes_with_its_data() -> None:
    moody = Moody()
    async with a_cluster(*PROTECTION, more=binding(moody)) as cluster:
        name = (await provisioned(cluster, MOODY))["metadata"]["name"]
        await cluster.delete("PersistentVolume", name)
        await cluster.wait(timedelta(minutes=1))
        assert moody.deleted == 0
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        assert await cluster.names("PersistentVolume") == []
        assert moody.deleted == 1


async def test_a_host_path_directory_goes_with_its_claim(tmp_path: Path) -> None:
    async with a_cluster(*PROTECTION, more=binding(host_path(tmp_path))) as cluster:
        made = await provisioned(cluster, HOST_PATH)
        directory = Path(made["spec"]["hostPath"]["path"])
        (directory / "data").write_text("precious")
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        assert content(tmp_path) == []
        assert await cluster.names("PersistentVolume") == []


def content(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


def recyclable(path: str) -> Document:
    made = volume(spec={"persistentVolumeReclaimPolicy": "Recycle", "hostPath": {"path": path}})
    del made["spec"]["csi"]
    return made


async def test_a_recycled_volume_is_empty_and_free_for_the_next_claim(tmp_path: Path) -> None:
    directory = tmp_path / "by-hand"
    directory.mkdir()
    async with a_cluster(*PROTECTION, more=binding(host_path(tmp_path))) as cluster:
        await cluster.create(recyclable(str(directory)), claim())
        await cluster.settle()
        (directory / "data").write_text("precious")
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        found = await cluster.get("PersistentVolume", "volume-1")
        assert found["status"]["phase"] == "Available"
        assert "claimRef" not in found["spec"]
        assert content(directory) == []
        assert ("VolumeRecycled", "Volume recycled") in await cluster.events("volume-1")


async def test_what_no_provisioner_can_recycle_fails_with_a_clear_event(tmp_path: Path) -> None:
    async with a_cluster(*PROTECTION, more=binding(zonal(SimulatedCloud()))) as cluster:
        await cluster.create(recyclable(str(tmp_path)), claim())
        await cluster.settle()
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        found = await cluster.get("PersistentVolume", "volume-1")
        assert found["status"]["phase"] == "Failed"
        assert await cluster.events("volume-1") == [
            ("VolumeFailedRecycle", "No recycler plugin found for the volume!")
        ]
