"""One provisioner takes over from another in the middle of the work, and back.

csi-provisioner and ours are told the same, and know of what the other did only what is written in
the cluster and in the driver. The first one is stopped while it makes volumes. While neither runs,
claims come and go. Then the second one finishes, and gives everything back: no claim may be
forgotten, no volume made twice, and nothing may show who made which volume.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import uvloop

from conformance.cluster_stories import CLAIMS, CLASSES, VOLUMES, place
from conformance.csi_checks import OUR_LOCAL, Program, Say, a_driver
from conformance.csi_drivers import Driver, made_by
from conformance.csi_sidecars import Sidecar, csi_snapshotter, install_snapshot_kinds
from conformance.csi_stories import (
    CAPACITIES,
    CONTENTS,
    SNAPSHOT_CLASSES,
    SNAPSHOT_GROUP,
    SNAPSHOTS,
    Scene,
    ready_content,
    served,
)
from plimsoll.api.registry import Document
from plimsoll.decide.capacity.tokens import CAPACITY_TOKEN
from plimsoll.wire.parameters import Selection

MANY = 12
"""Claims that are under way when the first one is stopped."""
IDENTITY = "storage.kubernetes.io/csiProvisionerIdentity"
OWN_TO_EACH = ("claimRef", "csi")
"""Parts of a volume's spec that two volumes of one class do not share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Which provisioner goes, and which comes, on which API server."""

    kubeconfig: Path
    controller: Program
    first: Sidecar
    second: Sidecar


def play(swap: Swap, say: Say) -> None:
    """Raises AssertionError when something shows, is forgotten, or is left."""
    install_snapshot_kinds(swap.kubeconfig)
    with a_driver(OUR_LOCAL) as driver, contextlib.ExitStack() as running:
        running.enter_context(swap.controller(swap.kubeconfig, driver.directory))
        running.enter_context(csi_snapshotter(swap.kubeconfig, driver))
        uvloop.run(_tell(swap, driver, say))


async def _tell(swap: Swap, driver: Driver, say: Say) -> None:
    async with place(swap.kubeconfig) as at, served(at, driver):
        work = _Work(Scene(at=at, driver=driver))
        with swap.first(swap.kubeconfig, driver):
            say("the first one makes volumes, a clone and a restored one")
            await work.begin()
        say("no provisioner runs")
        await work.change()
        with swap.second(swap.kubeconfig, driver):
            say("the second one goes on")
            await work.go_on()
            say("the second one gives everything back")
            await work.end()


class _Work:
    """What users want of the two, one after the other."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._at = scene.at
        self._class = scene.at.own("now")
        self._delayed_class = scene.at.own("delayed")
        self._snapshot_class = scene.at.own("snapshots")
        self._published: Mapping[str, str] = {}
        self._many = [f"many-{number}" for number in range(MANY)]

    async def begin(self) -> None:
        await self._scene.make_class("now")
        await self._scene.make_class("delayed", volumeBindingMode="WaitForFirstConsumer")
        await self._at.create(
            SNAPSHOT_CLASSES,
            self._snapshot_class,
            driver=self._scene.driver.name,
            deletionPolicy="Delete",
        )
        for name in ("data", "unwanted"):
            await self._scene.claim(name, self._class)
            await self._scene.bound(name)
        source = {"persistentVolumeClaimName": "data"}
        spec = {"volumeSnapshotClassName": self._snapshot_class, "source": source}
        await self._at.create(SNAPSHOTS, "monday", spec=spec)
        await ready_content(self._at, "monday")
        await self._copies("first")
        await self._delayed("delayed-first")
        await self._at.seen("capacity published", self._publishes)
        # Left in the middle of this.
        for name in self._many:
            await self._scene.claim(name, self._class)
        await self._at.phase(CLAIMS, self._many[0], "Bound")

    async def _copies(self, whose: str) -> None:
        """Both kinds of sources leave finalizers on them for as long as they are used."""
        claim = {"kind": "PersistentVolumeClaim", "name": "data"}
        snapshot = {"apiGroup": SNAPSHOT_GROUP, "kind": "VolumeSnapshot", "name": "monday"}
        await self._scene.claim(f"clone-{whose}", self._class, dataSource=claim)
        await self._scene.claim(f"restored-{whose}", self._class, dataSource=snapshot)
        await self._scene.bound(f"clone-{whose}")
        await self._scene.bound(f"restored-{whose}")

    async def _delayed(self, name: str) -> None:
        await self._scene.claim(name, self._delayed_class)
        await self._scene.select_node(name)
        await self._scene.bound(name)

    async def _publishes(self) -> bool:
        self._published = await self._capacities()
        return bool(self._published)

    async def _capacities(self) -> Mapping[str, str]:
        """What is published, by the identity of the object that says so."""
        page = await self._at.client.list(CAPACITIES, Selection())
        return {
            item["metadata"]["uid"]: item["capacity"]
            for item in page.items
            if item["storageClassName"] == self._delayed_class
        }

    async def change(self) -> None:
        await self._at.delete(CLAIMS, "unwanted")
        await self._scene.claim("orphan", self._class)

    async def go_on(self) -> None:
        for name in [*self._many, "orphan"]:
            await self._scene.bound(name)
        await self._copies("second")
        await self._delayed("delayed-second")
        await self._at.gone(CLAIMS, "unwanted")
        claims = await self._at.names(CLAIMS)

        async def are_in_step() -> bool:
            """A volume for every claim, and none besides (one of them is the snapshot)."""
            return len(await made_by(self._scene.driver)) == len(claims) + 1

        await self._at.seen(f"{len(claims)} volumes and a snapshot in the driver", are_in_step)
        for pair in (("data", "orphan"), ("delayed-first", "delayed-second")):
            await self._assert_alike(*pair)
        for pair in (("clone-first", "clone-second"), ("restored-first", "restored-second")):
            await self._assert_alike(*pair)
        await self._at.seen("the same capacity object, with less in it", self._is_updated)

    async def _assert_alike(self, first: str, second: str) -> None:
        """Nothing tells which program provisioned which volume."""
        one, other = _look(await self._scene.bound(first)), _look(await self._scene.bound(second))
        assert one == other, f"{first}: {one}\n{second}: {other}"

    async def _is_updated(self) -> bool:
        now = await self._capacities()
        return now.keys() == self._published.keys() and now != self._published

    async def end(self) -> None:
        content = await ready_content(self._at, "monday")
        await self._at.delete(SNAPSHOTS, "monday")
        await self._at.gone(SNAPSHOTS, "monday")
        await self._at.gone(CONTENTS, content["metadata"]["name"])
        await self._scene.release(*await self._at.names(CLAIMS))
        page = await self._at.client.list(VOLUMES, Selection())
        assert not [each for each in page.items if self._is_ours(each)]
        for name in (self._class, self._delayed_class):
            await self._at.delete(CLASSES, name)
        await self._at.delete(SNAPSHOT_CLASSES, self._snapshot_class)

    def _is_ours(self, volume: Document) -> bool:
        return volume["spec"].get("storageClassName") in {self._class, self._delayed_class}


def _look(volume: Document) -> Document:
    """All that is written about a volume but what is told apart: names, handles, times."""
    metadata, spec = volume["metadata"], volume["spec"]
    csi = {key: value for key, value in spec["csi"].items() if key != "volumeHandle"}
    context = dict(csi.pop("volumeAttributes", {}))
    assert context.pop(IDENTITY, ""), "the volume does not say which program provisioned it"
    return {
        "labels": metadata.get("labels"),
        "annotations": {
            name: value
            for name, value in (metadata.get("annotations") or {}).items()
            if name != CAPACITY_TOKEN
        },
        "finalizers": sorted(metadata.get("finalizers", [])),
        "spec": {key: value for key, value in spec.items() if key not in OWN_TO_EACH},
        "csi": csi,
        "context": sorted(context),
    }
