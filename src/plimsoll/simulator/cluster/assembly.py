"""How each process of production is put into a simulated one: its links, its clock, its chance."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Network
from itertools import islice
from random import Random

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.capacity.names import leader_lease_name
from plimsoll.decide.ceph.takeover.auto_takeover import AutoTakeoverMode
from plimsoll.decide.node.node_object import Machine
from plimsoll.decide.provisioning.settings import ProvisionerMode
from plimsoll.decide.rollback.mode import RollbackMode
from plimsoll.processes.controller.in_process.provisioners.registry import Registry
from plimsoll.processes.controller.in_process.provisioners.simulated_cloud import SimulatedCloud
from plimsoll.processes.controller.main import ControllerProcess
from plimsoll.processes.controller.settings import ControllerSettings
from plimsoll.processes.node.directory.protocol import NoDirectory
from plimsoll.processes.node.main import NodeProcess
from plimsoll.processes.node.plugins import GivenDrivers
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.processes.node.settings import (
    ADDRESSES_PER_NODE,
    POD_ADDRESSES,
    NodeProcessSettings,
)
from plimsoll.processes.provisioner.clients import Clients
from plimsoll.processes.provisioner.main import ProvisionerProcess
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.processes.scheduler.main import SchedulerProcess
from plimsoll.processes.scheduler.settings import SchedulerSettings, lease_of
from plimsoll.reconcile.process import ProcessIdentity
from plimsoll.runtime.ids import RandomIds
from plimsoll.simulator.cluster.api_host import ApiHost, KubeLink
from plimsoll.simulator.cluster.component import Begin, Work
from plimsoll.simulator.cluster.driver_host import CsiLink, DriverHost
from plimsoll.simulator.cluster.in_process import SLOWEST_SECONDS, SimulatedDisks
from plimsoll.simulator.cluster.shape import (
    MAP_ENTRY,
    NAMESPACE,
    REGION,
    SCHEDULER,
    TAKEOVER_MAP,
    ZONE,
    ClusterShape,
    SimulatedDriver,
    SimulatedNode,
)
from plimsoll.simulator.cluster.stock_provisioner import StockCalls, StockLeases
from plimsoll.simulator.engine.chance import derived, seconds
from plimsoll.simulator.engine.disk import Fsync
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.wire.kube import KubeClient

AUTO_SECONDS = 45.0
"""How long a zone is lost, or back, before controllers edit the takeover map."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """Whom processes can reach."""

    api: ApiHost
    drivers: Mapping[str, DriverHost]
    cloud: SimulatedCloud
    """Where the provisioner inside the controllers makes its disks."""

    def client(self, process: SimulatedProcess, chance: Random, manager: str) -> KubeClient:
        link = KubeLink(self.api, process)
        return KubeClient(link, clock=process.clock, chance=derived(chance), manager=manager)


def _identity(
    process: SimulatedProcess, chance: Random, lease: ObjectKey | None
) -> ProcessIdentity:
    """`lease` is what the process has to hold before it acts; None: it elects no leader."""
    ids = RandomIds(derived(chance))
    instance = f"{process.name}_{ids.uid()[:8]}"
    if lease is not None:
        process.instance, process.lease = instance, str(lease)
    return ProcessIdentity(instance=instance, ids=ids)


def scheduler(hosts: Hosts, settings: SchedulerSettings) -> Begin:
    def begin(process: SimulatedProcess, chance: Random) -> Work:
        client = hosts.client(process, chance, "plimsoll-scheduler")
        lease = lease_of(settings) if settings.leader_elect else None
        made = SchedulerProcess(settings, client, _identity(process, chance, lease))
        process.program = made
        return made.run(lambda: None)

    return begin


def controller(hosts: Hosts, settings: ControllerSettings, shape: ClusterShape) -> Begin:
    first = shape.nodes[0].name

    def begin(process: SimulatedProcess, chance: Random) -> Work:
        client = hosts.client(process, chance, "plimsoll-controller")
        links = {name: CsiLink(host, first, process) for name, host in hosts.drivers.items()}
        lease = ObjectKey(settings.leader_elect_namespace, settings.leader_elect_name)
        identity = _identity(process, chance, lease if settings.leader_elect else None)
        slow = Fsync(process.clock, derived(chance), SLOWEST_SECONDS)
        inside = Registry([SimulatedDisks(hosts.cloud, slow)])
        made = ControllerProcess(settings, client, links, identity, provisioners=inside)
        return made.run(lambda _loops: None)

    return begin


def provisioner(
    hosts: Hosts, driver: SimulatedDriver, shape: ClusterShape, node: str = ""
) -> Begin:
    """`node` is the one that it serves; empty: all."""
    flags = _provisioner_flags(driver, shape)
    if node:
        flags = _on_node(flags, node)
    endpoint = node or shape.nodes[0].name

    def begin(process: SimulatedProcess, chance: Random) -> Work:
        clients = Clients(
            kube=hosts.client(process, chance, "plimsoll-provisioner"),
            capacity=hosts.client(process, chance, "plimsoll-provisioner"),
            election=hosts.client(process, chance, "plimsoll-provisioner"),
            driver=CsiLink(hosts.drivers[driver.name], endpoint, process, is_alone=bool(node)),
            clock=process.clock,
        )
        identity = _identity(process, chance, _provisioner_lease(flags, driver))
        made = ProvisionerProcess(flags, clients, identity)
        return made.run(lambda _driver: None)

    return begin


def stock_provisioner(hosts: Hosts, driver: SimulatedDriver, shape: ClusterShape) -> Begin:
    """csi-provisioner, which a fault puts in the place of ours."""
    flags = _provisioner_flags(driver, shape)
    first = shape.nodes[0].name

    def begin(process: SimulatedProcess, chance: Random) -> Work:
        leases = StockLeases(KubeLink(hosts.api, process))
        clients = Clients(
            kube=hosts.client(process, chance, "csi-provisioner"),
            capacity=hosts.client(process, chance, "csi-provisioner"),
            election=KubeClient(leases, clock=process.clock, chance=derived(chance)),
            driver=StockCalls(CsiLink(hosts.drivers[driver.name], first, process)),
            clock=process.clock,
        )
        identity = _identity(process, chance, _provisioner_lease(flags, driver))
        made = ProvisionerProcess(flags, clients, identity, mode=ProvisionerMode.COMPATIBLE)
        return made.run(lambda _driver: None)

    return begin


def _provisioner_lease(flags: ProvisionerFlags, driver: SimulatedDriver) -> ObjectKey | None:
    lease = ObjectKey(NAMESPACE, leader_lease_name(driver.name))
    return lease if flags.leader_election else None


def _provisioner_flags(driver: SimulatedDriver, shape: ClusterShape) -> ProvisionerFlags:
    return ProvisionerFlags(
        namespace=NAMESPACE,
        pod_name=f"provisioner-{driver.name}",
        capacity_ownerref_level=-1,
        kube_api_qps=0,
        kube_api_capacity_qps=0,
        worker_threads=8,
        enable_capacity=driver.tracks_capacity,
        strict_topology=driver.strict_topology,
        capacity_poll_interval=seconds(shape.pace.capacity_poll),
        leader_election=shape.copies.provisioners > 1,
        leader_election_namespace=NAMESPACE,
        leader_election_lease_duration=seconds(shape.pace.lease_duration),
        leader_election_renew_deadline=seconds(shape.pace.renew_deadline),
        leader_election_retry_period=seconds(shape.pace.provisioner_retry_period),
        retry_interval_start=timedelta(milliseconds=500),
    )


def _on_node(flags: ProvisionerFlags, node: str) -> ProvisionerFlags:
    return msgspec.structs.replace(
        flags,
        node_deployment=True,
        node_name=node,
        pod_name=f"{flags.pod_name}-{node}",
        leader_election=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """What is left of nodes between two lives of their process: their mounts and addresses."""

    nodes: tuple[SimulatedNode, ...]
    directories: Mapping[str, NoDirectory]
    networks: Mapping[str, IPv4Network]


def machines(nodes: tuple[SimulatedNode, ...], offset: int) -> Machines:
    pieces = islice(POD_ADDRESSES.subnets(new_prefix=ADDRESSES_PER_NODE), offset, None)
    return Machines(
        nodes=nodes,
        directories={node.name: NoDirectory(node.name) for node in nodes},
        networks=dict(zip((node.name for node in nodes), pieces, strict=False)),
    )


def node_group(hosts: Hosts, group: Machines, shape: ClusterShape) -> Begin:
    """The nodes of one rack, in one process."""
    renew = seconds(shape.pace.node_lease)
    settings = NodeProcessSettings(hollow=len(group.nodes), lease_renew=renew)

    def begin(process: SimulatedProcess, chance: Random) -> Work:
        client = hosts.client(process, chance, "plimsoll-node")
        served = {node.name: _served(hosts, group, node, process) for node in group.nodes}
        return NodeProcess(served, client, settings, RandomIds(derived(chance))).run()

    return begin


def _served(
    hosts: Hosts, group: Machines, node: SimulatedNode, process: SimulatedProcess
) -> ServedNode:
    drivers = {name: CsiLink(host, node.name, process) for name, host in hosts.drivers.items()}
    return ServedNode(
        machine=Machine(
            name=node.name,
            address="127.0.0.1",
            labels={ZONE: node.zone, REGION: "simulated"},
            capacity={
                "cpu": node.cpu,
                "memory": node.memory,
                "pods": str(node.pods),
                "ephemeral-storage": "100Gi",
            },
            architecture="amd64",
            kernel="simulated",
            version="simulated",
        ),
        directory=group.directories[node.name],
        plugins=GivenDrivers(drivers),
        network=group.networks[node.name],
    )


def scheduler_settings(shape: ClusterShape) -> SchedulerSettings:
    return SchedulerSettings(
        scheduler_name=SCHEDULER,
        record_namespaces=f"kube-system,{NAMESPACE}",
        leader_elect=shape.copies.schedulers > 1,
        leader_elect_lease_duration=seconds(shape.pace.lease_duration),
        leader_elect_renew_deadline=seconds(shape.pace.renew_deadline),
        leader_elect_retry_period=seconds(shape.pace.retry_period),
    )


def controller_settings(shape: ClusterShape) -> ControllerSettings:
    return ControllerSettings(
        leader_elect=shape.copies.controllers > 1,
        leader_elect_lease_duration=seconds(shape.pace.lease_duration),
        leader_elect_renew_deadline=seconds(shape.pace.renew_deadline),
        leader_elect_retry_period=seconds(shape.pace.retry_period),
        node_monitor_grace_period=seconds(shape.pace.node_grace),
        node_monitor_period=seconds(shape.pace.node_monitor),
        csi_probe_period=seconds(shape.pace.csi_probe),
        csi_addresses="",
        rollback=RollbackMode.ON if shape.rolls_back else RollbackMode.OFF,
        repair=",".join(shape.repairs),
        takeover=shape.takeover,
        takeover_labels=",".join(shape.takeover_labels or (ZONE,)),
        takeover_map=f"{TAKEOVER_MAP}/{MAP_ENTRY}",
        auto_takeover=AutoTakeoverMode.ON if shape.takes_over_by_itself else AutoTakeoverMode.OFF,
        auto_takeover_after=seconds(AUTO_SECONDS),
        auto_giveback_after=seconds(AUTO_SECONDS),
    )
