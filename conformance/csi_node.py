"""Our node with original drivers: the real hostpathplugin and node-driver-registrar in its care.

They know nothing of Plimsoll: the registrar puts its socket where a kubelet would look for it, and
the volumes are looked at where the driver keeps them.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop

from conformance import peers
from conformance.cluster_stories import CLAIMS, CLASSES, PODS, Place, place
from conformance.csi_checks import HOSTPATH, Program, Say, a_driver
from conformance.csi_drivers import Driver, mounted_below, segments
from conformance.csi_sidecars import csi_provisioner
from conformance.csi_stories import CSI_DRIVERS, CSI_NODES, NODES, Scene
from conformance.programs import running, wait_for_line
from plimsoll.api.registry import Document
from tests.servers import plimsoll

REGISTRY = "plugins_registry"
CONTAINERS = [
    {"name": "main", "image": "pause", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
]


@contextlib.contextmanager
def our_node(kubeconfig: Path, driver: Driver) -> Iterator[Path]:
    """`plimsoll node` for the driver's node; the directory that it works in."""
    directory = driver.directory / "node"
    command = [
        plimsoll(),
        "node",
        f"--kubeconfig={kubeconfig}",
        f"--node-name={driver.node}",
        f"--data-dir={directory}",
        "--metrics-port=0",
    ]
    log = driver.directory / "plimsoll-node.log"
    with running(command, log) as process:
        wait_for_line(process, log, "plimsoll node ready")
        yield directory


@contextlib.contextmanager
def node_driver_registrar(driver: Driver, registry: Path) -> Iterator[None]:
    """Raises peers.NotFoundError where there is none."""
    command = [
        str(peers.find(peers.NODE_DRIVER_REGISTRAR)),
        f"--csi-address={driver.socket}",
        f"--kubelet-registration-path={driver.socket}",
        f"--plugin-registration-path={registry}",
        "--v=5",
    ]
    with running(command, driver.directory / "node-driver-registrar.log"):
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentSite:
    """A node that serves the driver, with one story's cluster around it."""

    scene: Scene
    directory: Path

    @property
    def at(self) -> Place:
        return self.scene.at

    @property
    def driver(self) -> Driver:
        return self.scene.driver

    async def run_pod(self, name: str, volume: Document) -> Document:
        """A pod on the node, as a scheduler would have bound it, when it is running."""
        spec = {
            "nodeName": self.driver.node,
            "containers": CONTAINERS,
            "volumes": [{"name": "v"} | volume],
        }
        await self.at.create(PODS, name, spec=spec)
        return await self.at.phase(PODS, name, "Running")

    async def stop_pod(self, pod: Document) -> None:
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        await self.at.delete(PODS, name)
        await self.at.gone(PODS, name)
        assert mounted_below(self.directory / "pods" / uid) == []

    def mount_of(self, pod: Document) -> Path:
        """Where the pod's only volume is."""
        [mount] = mounted_below(self.directory / "pods" / pod["metadata"]["uid"])
        return mount

    async def claimed(self) -> Document:
        """A claim `data` with a volume of the driver; the volume."""
        class_name = await self.scene.make_class("now")
        await self.scene.claim("data", class_name)
        volume = await self.scene.bound("data")
        await self.at.delete(CLASSES, class_name)
        return volume


USED = {"persistentVolumeClaim": {"claimName": "data"}}
Story = Callable[[AttachmentSite], Awaitable[None]]


async def story_the_driver_is_registered(site: AttachmentSite) -> None:
    reach = await segments(site.driver)

    async def is_registered() -> bool:
        node = await site.at.find(CSI_NODES, site.driver.node)
        drivers = (node or {}).get("spec", {}).get("drivers", [])
        return any(each["name"] == site.driver.name for each in drivers)

    await site.at.seen("driver in CSINode", is_registered)
    csi_node = await site.at.find(CSI_NODES, site.driver.node)
    assert csi_node is not None
    [entry] = csi_node["spec"]["drivers"]
    assert entry["nodeID"] == site.driver.node
    assert sorted(entry["topologyKeys"]) == sorted(reach)
    node = await site.at.find(NODES, site.driver.node)
    assert node is not None
    assert reach.items() <= node["metadata"]["labels"].items()


async def story_a_pod_writes_and_the_next_one_reads(site: AttachmentSite) -> None:
    volume = await site.claimed()
    first = await site.run_pod("first", USED)
    (site.mount_of(first) / "greeting").write_text("ahoy")
    kept = site.driver.state / volume["spec"]["csi"]["volumeHandle"] / "greeting"
    assert kept.read_text() == "ahoy", "the driver does not have what the pod wrote"
    await site.stop_pod(first)
    second = await site.run_pod("second", USED)
    assert (site.mount_of(second) / "greeting").read_text() == "ahoy"
    await site.stop_pod(second)
    await site.scene.release("data")


async def story_a_claim_in_use_waits_for_its_pod(site: AttachmentSite) -> None:
    await site.claimed()
    pod = await site.run_pod("user", USED)
    await site.at.delete(CLAIMS, "data")
    await site.at.stays(CLAIMS, "data")
    await site.stop_pod(pod)
    await site.at.gone(CLAIMS, "data")


async def story_an_inline_volume_lives_and_dies_with_its_pod(site: AttachmentSite) -> None:
    inline = {"csi": {"driver": site.driver.name, "volumeAttributes": {"size": "16Mi"}}}
    pod = await site.run_pod("user", inline)
    (site.mount_of(pod) / "scratch").write_text("gone soon")
    assert len(list(site.driver.state.glob("csi-*/scratch"))) == 1
    await site.stop_pod(pod)
    assert list(site.driver.state.glob("csi-*")) == []


STORIES: tuple[Story, ...] = (
    story_the_driver_is_registered,
    story_a_pod_writes_and_the_next_one_reads,
    story_a_claim_in_use_waits_for_its_pod,
    story_an_inline_volume_lives_and_dies_with_its_pod,
)


def play(kubeconfig: Path, controller: Program, say: Say) -> None:
    """Raises AssertionError when a story does not end as it should, or something is left."""
    with a_driver(HOSTPATH) as driver, contextlib.ExitStack() as programs:
        programs.enter_context(controller(kubeconfig, driver.directory))
        programs.enter_context(csi_provisioner(kubeconfig, driver))
        directory = programs.enter_context(our_node(kubeconfig, driver))
        programs.enter_context(node_driver_registrar(driver, directory / REGISTRY))
        uvloop.run(_tell(kubeconfig, driver, directory, say))


async def _tell(kubeconfig: Path, driver: Driver, directory: Path, say: Say) -> None:
    modes = ["Persistent", "Ephemeral"]
    abilities = {"attachRequired": False, "podInfoOnMount": True, "volumeLifecycleModes": modes}
    async with place(kubeconfig) as at:
        await at.create(CSI_DRIVERS, driver.name, spec=abilities)
        for story in STORIES:
            name: str = getattr(story, "__name__", "")
            say(name.removeprefix("story_").replace("_", " "))
            async with place(kubeconfig) as own:
                scene = Scene(at=own, driver=driver, parameters=HOSTPATH.parameters)
                await story(AttachmentSite(scene=scene, directory=directory))
        await at.delete(CSI_DRIVERS, driver.name)
