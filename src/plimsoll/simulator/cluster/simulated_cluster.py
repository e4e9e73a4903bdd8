"""A whole cluster in one event loop: every process of production, each with its own clock.

    async with simulated_cluster(shape, network, chance) as cluster:
        await cluster.ready()
        …

The API server, drivers, schedulers, controllers, provisioners and nodes know only the Kubernetes
API and CSI; the links between them are simulated.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from random import Random

from msgspec.structs import replace

from plimsoll.api.registry import Document
from plimsoll.apiserver.main import ServerOptions
from plimsoll.processes.controller.in_process.provisioners.simulated_cloud import SimulatedCloud
from plimsoll.simulator.cluster import assembly
from plimsoll.simulator.cluster.api_host import ApiHost, ApiHostOptions, KubeLink
from plimsoll.simulator.cluster.assembly import Hosts
from plimsoll.simulator.cluster.component import Begin, Component, Work
from plimsoll.simulator.cluster.driver_host import STOCK_PROVISIONER, DriverHost
from plimsoll.simulator.cluster.mirror import Mirror
from plimsoll.simulator.cluster.objects import kind_of
from plimsoll.simulator.cluster.shape import SECOND_SCHEDULER, ClusterShape, first_objects
from plimsoll.simulator.engine.chance import derived, seconds
from plimsoll.simulator.engine.network import Network
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kube import KubeClient

CLOUD_BYTES = 4 * 1024**3
"""Of each zone, for the provisioner inside the controllers."""


class SimulatedCluster:
    def __init__(self, shape: ClusterShape, network: Network, chance: Random) -> None:
        self.shape = shape
        self.network = network
        self._chance = chance
        self.api = ApiHost(
            network,
            derived(chance),
            ApiHostOptions(server=ServerOptions(bookmark_every=seconds(shape.pace.bookmark))),
        )
        self.drivers = {
            driver.name: DriverHost(network, derived(chance), driver) for driver in shape.drivers
        }
        for driver in shape.drivers:
            for node in shape.nodes:
                told = {key: node.topology[key] for key in driver.keys}
                self.drivers[driver.name].add_node(node.name, told, node.max_volumes)
        self.cloud = SimulatedCloud(zone_bytes=CLOUD_BYTES)
        self.hosts = Hosts(api=self.api, drivers=self.drivers, cloud=self.cloud)
        self.components: dict[str, Component] = {}
        self._add_components()
        settings = replace(assembly.scheduler_settings(shape), leader_elect=False)
        self.second_scheduler = Component(
            network, SECOND_SCHEDULER, assembly.scheduler(self.hosts, settings), derived(chance)
        )
        """Serves the same pods, and elects no leader; a fault starts it."""
        self.stock_provisioners = {
            driver.name: Component(
                network,
                f"{STOCK_PROVISIONER}{driver.name}",
                assembly.stock_provisioner(self.hosts, driver, shape),
                Random(driver.name),  # noqa: S311 - chance of a simulation
            )
            for driver in shape.drivers
        }
        """By driver: csi-provisioner, which a fault puts in the place of ours."""
        self.mirror = Mirror(self.api)
        self.user = SimulatedProcess(network.loop, "user")
        """What people and their tools do."""
        self.client = KubeClient(
            KubeLink(self.api, self.user), clock=self.user.clock, chance=derived(chance)
        )

    def _add_components(self) -> None:
        shape, hosts = self.shape, self.hosts
        self._add("apiserver", _hosted(self.api))
        for name, host in self.drivers.items():
            self._add(f"driver {name}", _hosted(host))
        for number in range(shape.copies.schedulers):
            settings = assembly.scheduler_settings(shape)
            self._add(f"scheduler-{number}", assembly.scheduler(hosts, settings))
        for number in range(shape.copies.controllers):
            begin = assembly.controller(hosts, assembly.controller_settings(shape), shape)
            self._add(f"controller-{number}", begin)
        for driver in shape.drivers:
            for name, node in driver.provisioners(shape.nodes, shape.copies).items():
                self._add(name, assembly.provisioner(hosts, driver, shape, node))
        self.machines = {}
        offset = 0
        for rack, nodes in shape.racks.items():
            self.machines[rack] = assembly.machines(nodes, offset)
            offset += len(nodes)
            self._add(f"nodes {rack}", assembly.node_group(hosts, self.machines[rack], shape))

    def _add(self, name: str, begin: Begin) -> None:
        self.components[name] = Component(self.network, name, begin, derived(self._chance))

    async def start(self) -> None:
        """Everything, as far as it starts without waiting; first the objects of the administrator.

        Processes come up in the course of some seconds, as after a power failure.
        """
        self.components["apiserver"].start()
        for document in first_objects(self.shape):
            await self.create(document)
        for component in self.components.values():
            component.start()

    async def create(self, document: Document) -> Document:
        """As a user who tries until it is done."""

        while True:
            try:
                return await self.client.create(kind_of(document), document)
            except KubeError as error:
                if not error.is_passing:
                    raise
            await self.user.clock.sleep(seconds(1))

    def leader(self, of: str) -> Component | None:
        """The copy that leads, of the components whose names begin so."""
        for name, component in self.components.items():
            life = component.life
            if not name.startswith(of) or life is None or not life.instance:
                continue
            if self.mirror.holders.get(life.lease) == life.instance:
                return component
        return None

    def put_back_provisioners(self, driver: str) -> None:
        """Ours, where csi-provisioner was."""
        self.stock_provisioners[driver].cut()
        for component in self.provisioners(driver):
            component.is_replaced = False
            component.start()

    async def stop(self) -> None:
        for component in self._everything:
            component.cut()
        for component in self._everything:
            await component.bury()
        await self.user.bury()
        for host in self.drivers.values():
            host.disk.discard()

    @property
    def bugs(self) -> list[tuple[str, BaseException]]:
        return [(each.name, bug) for each in self._everything for bug in each.bugs]

    @property
    def _everything(self) -> tuple[Component, ...]:
        stock = self.stock_provisioners.values()
        return (*self.components.values(), self.second_scheduler, *stock)

    def in_zone(self, zone: str) -> Iterator[Component]:
        """What runs on the nodes there."""
        nodes = [node for node in self.shape.nodes if node.zone == zone]
        for rack in dict.fromkeys(node.rack for node in nodes):
            yield self.components[f"nodes {rack}"]
        for driver in self.shape.drivers:
            if driver.on_each_node:
                for name in driver.provisioners(nodes, self.shape.copies):
                    yield self.components[name]

    def provisioners(self, driver: str) -> list[Component]:
        """All copies of ours."""
        found = self.components.items()
        return [each for name, each in found if name.startswith(f"provisioner-{driver}-")]


def _hosted(host: ApiHost | DriverHost) -> Begin:
    def begin(process: SimulatedProcess, _chance: Random) -> Work:
        return host.run(process)

    return begin


@asynccontextmanager
async def simulated_cluster(
    shape: ClusterShape, network: Network, chance: Random
) -> AsyncIterator[SimulatedCluster]:
    cluster = SimulatedCluster(shape, network, chance)
    try:
        yield cluster
    finally:
        await cluster.stop()
