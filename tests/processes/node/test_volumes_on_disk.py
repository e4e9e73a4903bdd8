"""Volumes of a real node: real sockets, real mounts, and what a restart finds of them."""

import stat
from pathlib import Path
from typing import Any

import pytest

from plimsoll.runtime.files.mountinfo import read_mount_points
from plimsoll.simulator.stories.nodes import DRIVER, a_bound_claim, driver_object
from plimsoll.simulator.stories.objects import pod, uses
from plimsoll.wire.csi.refusals import internal
from tests.deep_directories import make_deep
from tests.processes.node.machine import Machine, a_machine, needs_root
from tests.processes.node.mounting_driver import MountingDriver

pytestmark = needs_root


def a_driver(directory: Path) -> MountingDriver:
    store = directory / "store"
    store.mkdir()
    return MountingDriver(node_id="node-0", store=store)


async def a_running_pod(machine: Machine, **metadata: Any) -> Path:
    """Where its volume is."""
    await machine.cluster.create(driver_object())
    await a_bound_claim(machine.cluster)
    await machine.cluster.create(pod(volumes=[uses("data")], node="node-0", **metadata))
    await machine.until_phase("web", "Running")
    return await place(machine)


async def place(machine: Machine) -> Path:
    uid: str = (await machine.cluster.get("Pod", "web"))["metadata"]["uid"]
    volume = "volumes/kubernetes.io~csi/volume-data/mount"
    return machine.directory / "pods" / uid / volume


async def test_what_is_written_to_a_volume_is_there_for_the_next_pod(short_path: Path) -> None:
    driver = a_driver(short_path)
    async with a_machine(short_path) as machine, driver.serving(short_path, machine.registry):
        await machine.start()
        mount = await a_running_pod(machine)
        (mount / "hello").write_text("world")
        assert (short_path / "store" / "handle-volume-data" / "hello").read_text() == "world"
        await machine.cluster.delete("Pod", "web")
        await machine.until_phase("web", "gone")
        assert machine.mounted() == []
        assert [name for name in machine.files() if "handle" in name or "web" in name] == []
        assert not mount.parents[3].exists()

        await machine.cluster.create(pod(volumes=[uses("data")], node="node-0"))
        await machine.until_phase("web", "Running")
        assert (await place(machine) / "hello").read_text() == "world"


async def test_a_restart_leaves_running_pods_alone(short_path: Path) -> None:
    driver = a_driver(short_path)
    async with a_machine(short_path) as machine, driver.serving(short_path, machine.registry):
        await machine.start()
        mount = await a_running_pod(machine)
        await machine.kill()
        driver.calls.clear()
        await machine.start()
        other = pod("other", volumes=[uses("data")], node="node-0")
        await machine.cluster.create(other)
        await machine.until_phase("other", "Running")
        assert driver.called == ["NodePublishVolume"]
        assert str(mount) in read_mount_points()


async def test_a_pod_deleted_while_the_node_was_down_is_cleaned_up(short_path: Path) -> None:
    driver = a_driver(short_path)
    async with a_machine(short_path) as machine, driver.serving(short_path, machine.registry):
        await machine.start()
        mount = await a_running_pod(machine)
        await machine.kill()
        await machine.cluster.delete("Pod", "web", grace=0)
        for kind, name in (("PersistentVolumeClaim", "data"), ("PersistentVolume", "volume-data")):
            await machine.cluster.patch(kind, name, {"metadata": {"finalizers": None}})
            await machine.cluster.delete(kind, name)
        await machine.start()

        async def is_clean() -> bool:
            return not machine.mounted() and not mount.parents[3].exists()

        await machine.until(is_clean)
        assert driver.called[-2:] == ["NodeUnpublishVolume", "NodeUnstageVolume"]


async def test_after_a_reboot_everything_is_staged_again(short_path: Path) -> None:
    driver = a_driver(short_path)
    async with a_machine(short_path) as machine, driver.serving(short_path, machine.registry):
        await machine.start()
        mount = await a_running_pod(machine)
        await machine.reboot()
        driver.calls.clear()
        await machine.start()

        async def is_back() -> bool:
            return str(mount) in read_mount_points()

        await machine.until(is_back)
        assert driver.called == ["NodeStageVolume", "NodePublishVolume"]


async def test_a_call_that_was_under_way_is_repeated_and_undone_if_need_be(
    short_path: Path,
) -> None:
    driver = a_driver(short_path)
    driver.fail("NodePublishVolume", *(internal("disk is slow") for _ in range(100)))
    async with a_machine(short_path) as machine, driver.serving(short_path, machine.registry):
        await machine.start()
        await machine.cluster.create(driver_object())
        await a_bound_claim(machine.cluster)
        await machine.cluster.create(pod(volumes=[uses("data")], node="node-0"))

        async def was_tried() -> bool:
            return "NodePublishVolume" in driver.called

        await machine.until(was_tried)
        await machine.kill()
        await machine.cluster.delete("Pod", "web", grace=0)
        await machine.start()

        async def is_undone() -> bool:
            return "NodeUnstageVolume" in driver.called and not machine.mounted()

        await machine.until(is_undone)
        assert "NodeUnpublishVolume" in driver.called


async def test_a_block_volume_is_a_file_in_the_pod(short_path: Path) -> None:
    driver = a_driver(short_path)
    async with a_machine(short_path) as machine, driver.serving(short_path, machine.registry):
        await machine.start()
        await machine.cluster.create(driver_object())
        await a_bound_claim(machine.cluster, volumeMode="Block")
        await machine.cluster.create(pod(volumes=[uses("data")], node="node-0"))
        await machine.until_phase("web", "Running")
        uid = (await machine.cluster.get("Pod", "web"))["metadata"]["uid"]
        link = machine.directory / f"pods/{uid}/volumeDevices/kubernetes.io~csi/volume-data"
        assert link.is_symlink()
        link.write_text("bytes")
        assert (short_path / "store" / "handle-volume-data").read_text() == "bytes"
        assert driver.last("NodePublishVolume").volume_capability.HasField("block")

        await machine.kill()
        await machine.start()
        await machine.cluster.delete("Pod", "web")
        await machine.until_phase("web", "gone")
        assert machine.mounted() == []
        assert not link.parents[2].exists()
        assert not (
            machine.directory / "plugins/kubernetes.io/csi/volumeDevices/volume-data"
        ).exists()


async def test_files_are_given_to_the_pods_group(short_path: Path) -> None:
    driver = a_driver(short_path)
    inside = short_path / "store" / "handle-volume-data"
    inside.mkdir()
    (inside / "file").write_text("")
    (inside / "file").chmod(0o600)
    async with a_machine(short_path) as machine, driver.serving(short_path, machine.registry):
        await machine.start()
        await machine.cluster.create(driver_object(fsGroupPolicy="File"))
        await a_bound_claim(machine.cluster)
        grouped = pod(volumes=[uses("data"), {"name": "own", "emptyDir": {}}], node="node-0")
        grouped["spec"]["securityContext"] = {"fsGroup": 4242}
        await machine.cluster.create(grouped)
        await machine.until_phase("web", "Running")
        mount = await place(machine)
        assert mount.stat().st_gid == (mount / "file").stat().st_gid == 4242
        assert stat.S_IMODE((mount / "file").stat().st_mode) == 0o660
        assert mount.stat().st_mode & stat.S_ISGID
        own = mount.parents[2] / "kubernetes.io~empty-dir" / "own"
        assert own.stat().st_gid == 4242


async def test_directories_of_forgotten_pods_are_removed_however_deep(short_path: Path) -> None:
    async with a_machine(short_path) as machine:
        own = machine.directory / "pods" / "forgotten" / "volumes" / "kubernetes.io~empty-dir"
        (own / "scratch" / "deep").mkdir(parents=True)
        (own / "scratch" / "deep" / "file").write_text("x")
        make_deep(own / "scratch", levels=1500)
        await machine.start()

        async def is_clean() -> bool:
            return not (machine.directory / "pods" / "forgotten").exists()

        await machine.until(is_clean)


async def test_a_driver_comes_goes_and_comes_back(short_path: Path) -> None:
    driver = a_driver(short_path)
    async with a_machine(short_path) as machine:
        await machine.start()
        async with driver.serving(short_path, machine.registry):
            await machine.until_drivers(DRIVER)
            await a_running_pod(machine)
        await machine.until_drivers()
        await machine.cluster.delete("Pod", "web")

        async def complained() -> bool:
            events = await machine.cluster.events("web")
            return any("not found in the list" in message for _, message in events)

        await machine.until(complained)
        assert await machine.phase("web") == "Running"
        async with driver.serving(short_path, machine.registry):
            await machine.until_phase("web", "gone")
            assert driver.told == [(True, ""), (True, "")]


async def test_plugins_that_cannot_be_served_are_told_why(short_path: Path) -> None:
    old = MountingDriver(name="old.example.com", versions=("0.3.0",))
    other = MountingDriver(name="device.example.com", type="DevicePlugin")
    wrong = MountingDriver(name="wrong.example.com", topology={"rack": "r2"})
    good = MountingDriver(name="good.example.com", topology={"rack": "r1"})
    async with a_machine(short_path) as machine:
        registry = machine.registry
        async with (
            old.serving(short_path, registry),
            other.serving(short_path, registry),
            wrong.serving(short_path, registry),
            good.serving(short_path, registry),
        ):
            await machine.start()

            async def all_told() -> bool:
                return all(driver.told for driver in (old, other, wrong, good))

            await machine.until(all_told)
            await machine.until_drivers("good.example.com")
    assert not old.told[0][0]
    assert "0.3.0" in old.told[0][1]
    assert "DevicePlugin" in other.told[0][1]
    assert '"rack":"r2" but existing label is "rack":"r1"' in wrong.told[-1][1]
    assert good.told[-1] == (True, "")


@pytest.mark.parametrize("cut_after", range(1, 9))
async def test_a_node_cut_off_at_any_write_leaves_nothing(short_path: Path, cut_after: int) -> None:
    driver = a_driver(short_path)
    async with a_machine(short_path) as machine, driver.serving(short_path, machine.registry):
        await machine.start(cut_after=cut_after)
        await machine.cluster.create(driver_object())
        await a_bound_claim(machine.cluster)
        await machine.cluster.create(pod(volumes=[uses("data")], node="node-0"))

        async def runs_or_is_cut_off() -> bool:
            return machine.is_cut_off or await machine.phase("web") == "Running"

        await machine.until(runs_or_is_cut_off)
        await machine.cluster.delete("Pod", "web")

        async def is_gone_or_cut_off() -> bool:
            return machine.is_cut_off or await machine.phase("web") == "gone"

        await machine.until(is_gone_or_cut_off)
        await machine.kill()
        await machine.start()
        await machine.until_phase("web", "gone")

        async def is_clean() -> bool:
            return not machine.mounted() and not any((machine.directory / "pods").iterdir())

        await machine.until(is_clean)
        assert driver.called.count("NodePublishVolume") <= 2
