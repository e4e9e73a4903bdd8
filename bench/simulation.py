"""How much virtual time of a cluster the simulator plays in a second of processor time.

Thirty nodes in six racks, two drivers, two copies of each process of the control plane: once idle,
once with twenty pods that have a volume each. Coming up, which a run does once, is measured apart
from what follows: it costs about as much as seven virtual minutes of the idle cluster. The number
of steps does not depend on the machine: 1,900 in a virtual minute of a cluster that has come up.
On a machine with nothing else to do it played 38 virtual minutes in a second then, and 24 with
coming up; with pods 35, and 14 with coming up and their volumes.
"""

import gc
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from bench.measurement import Measurement
from plimsoll.api.registry import Document
from plimsoll.simulator.cluster.shape import (
    SELDOM,
    ClusterShape,
    SimulatedClass,
    SimulatedDriver,
    SimulatedNode,
)
from plimsoll.simulator.cluster.simulated_cluster import simulated_cluster
from plimsoll.simulator.engine.chance import seconds
from plimsoll.simulator.engine.loop import VirtualLoop, run_virtually
from plimsoll.simulator.engine.network import Network
from plimsoll.simulator.engine.trace import Trace

MINUTES, UP_MINUTES = 15, 2
ZONES, RACKS, PER_RACK = "abc", (1, 2), 5
PODS_PER_CLASS = 10
SEED = 1


def measure_simulation(remark: Callable[[str], None]) -> list[Measurement]:
    logging.disable(logging.WARNING)  # Processes that stop at the end complain about each other.
    gc.disable()  # As in every run of a scenario.
    try:
        remark(f"{MINUTES} virtual minutes of 30 nodes, idle, then with 20 pods …")
        return [*_measured("idle", ()), *_measured("20 pods with volumes", ("zonal", "local"))]
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)


def _measured(name: str, classes: tuple[str, ...]) -> list[Measurement]:
    gc.collect()
    began = time.process_time()
    up = run_virtually(lambda loop: _play(loop, classes))
    took = time.process_time() - began
    return [
        Measurement(
            name=f"simulation, 30 nodes, {name}",
            value=MINUTES / took,
            unit="min/cpu s",
            better="higher",
        ),
        Measurement(
            name=f"simulation, 30 nodes that are up, {name}",
            value=(MINUTES - UP_MINUTES) / up.seconds,
            unit="min/cpu s",
            better="higher",
        ),
        Measurement(
            name=f"simulation steps, nodes that are up, {name}",
            value=up.steps / (MINUTES - UP_MINUTES),
            unit="per min",
            better="lower",
        ),
    ]


@dataclass(frozen=True, slots=True)
class PlayedTime:
    """Of a cluster that has come up, and whose pods run."""

    steps: int
    """How many callbacks ran."""
    seconds: float


async def _play(loop: VirtualLoop, classes: tuple[str, ...]) -> PlayedTime:
    network = Network(loop=loop, chance=Random(SEED), trace=Trace(loop.time))
    async with simulated_cluster(a_shape(), network, Random(SEED)) as cluster:
        await cluster.start()
        await cluster.user.clock.sleep(seconds(60))
        for name in classes:
            await cluster.create(a_stateful_set(name))
        await cluster.user.clock.sleep(seconds(60 * (UP_MINUTES - 1)))
        steps, began = loop.steps, time.process_time()
        await cluster.user.clock.sleep(seconds(60 * (MINUTES - UP_MINUTES)))
        return PlayedTime(loop.steps - steps, time.process_time() - began)


def a_shape() -> ClusterShape:
    nodes = tuple(
        SimulatedNode(name=f"node-{zone}{rack}{number}", zone=zone, rack=f"{zone}{rack}")
        for zone in ZONES
        for rack in RACKS
        for number in range(PER_RACK)
    )
    zonal: tuple[Document, ...] = tuple(
        {"name": f"pool-{zone}", "size": "100Gi", "topology": {"zone": zone}} for zone in ZONES
    )
    local: tuple[Document, ...] = tuple(
        {"name": f"disk-{node.name}", "size": "20Gi", "topology": {"host": node.name}}
        for node in nodes
    )
    return ClusterShape(
        nodes=nodes,
        drivers=(
            SimulatedDriver(name="zonal.sim", keys=("zone",), pools=zonal),
            SimulatedDriver(name="local.sim", keys=("host",), pools=local),
        ),
        classes=(
            SimulatedClass(name="zonal", driver="zonal.sim"),
            SimulatedClass(name="local", driver="local.sim"),
        ),
        pace_name=SELDOM,
    )


def a_stateful_set(class_: str) -> Document:
    container = {
        "name": "main",
        "image": "example.com/main",
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_,
            "resources": {"requests": {"storage": "5Gi"}},
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": class_, "namespace": "default"},
        "spec": {
            "replicas": PODS_PER_CLASS,
            "serviceName": class_,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": class_}},
            "template": {
                "metadata": {"labels": {"app": class_}},
                "spec": {"containers": [container]},
            },
            "volumeClaimTemplates": [claim],
        },
    }
