"""What it costs to free a node for a more important pod, in clusters of several sizes.

Every node is full of less important pods. Each pod is refused, another pod is found that can leave,
and the pod goes to the node that it was promised: two decisions and the search between them, with
every change to the cluster. It is processor time: nothing waits.
"""

import gc
import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from bench.measurement import Measurement
from plimsoll.api.core import Node, NodeStatus
from plimsoll.api.meta import ApiObject, ObjectMeta
from plimsoll.api.pods import Container, ContainerResources, Pod, PodSpec, PodStatus
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel, NoNode, Placement
from plimsoll.decide.scheduling.preemption.preemptor import Preemption

LOW, HIGH = 1, 1000
PODS_PER_NODE = 8
SHAPES = 50
PODS = 500
PART = 50
"""The median over parts of so many pods is taken: on a shared machine some parts are slower."""
START = datetime(2026, 1, 1, tzinfo=UTC)


def measure_preemption(nodes: int) -> Measurement:
    columns = Columns.of(a_full_cluster(nodes))
    pods = [an_important_pod(number) for number in range(SHAPES + PODS)]
    kernel = Kernel(columns)
    gc.collect()
    gc.disable()
    try:
        for pod in pods[:SHAPES]:
            _free_and_place(kernel, pod)
        spent = [
            _seconds(kernel, pods[first : first + PART]) for first in range(SHAPES, len(pods), PART)
        ]
    finally:
        gc.enable()
    return Measurement(
        name=f"{nodes} nodes: preemption",
        value=1e6 * statistics.median(spent) / PART,
        unit="us/pod",
        better="lower",
    )


def _seconds(kernel: Kernel, pods: list[Pod]) -> float:
    began = time.process_time()
    for pod in pods:
        _free_and_place(kernel, pod)
    return time.process_time() - began


def _free_and_place(kernel: Kernel, pod: Pod) -> None:
    columns = kernel.columns
    columns.nominations.put(pod)
    refused = kernel.decide(pod)
    if not isinstance(refused, NoNode):
        raise TypeError(f"{pod.key} found room on {refused.node}")
    outcome = kernel.preempt(refused)
    if not isinstance(outcome, Preemption):
        raise TypeError(f"no pod leaves for {pod.key}: {outcome.message}")
    columns.nominations.nominate(pod, outcome.node)
    for victim in outcome.victims:
        columns.remove(victim)
    placed = kernel.decide(pod)
    if not isinstance(placed, Placement) or placed.node != outcome.node:
        raise TypeError(f"{pod.key} did not get node {outcome.node}")
    columns.nominations.remove(pod.key)
    spec = msgspec.structs.replace(pod.spec, node_name=placed.node)
    columns.put(msgspec.structs.replace(pod, spec=spec))


def a_full_cluster(nodes: int) -> Iterator[ApiObject]:
    for number in range(nodes):
        name = f"node-{number:05}"
        room = {"cpu": "32", "memory": "128Gi", "pods": "110"}
        yield Node(metadata=ObjectMeta(name=name), status=NodeStatus(allocatable=room))
        for place in range(PODS_PER_NODE):
            spec = _spec({"cpu": "4", "memory": "4Gi"}, LOW + place % 3, node=name)
            started = START + timedelta(minutes=(number * 7 + place) % 1000)
            yield Pod(
                metadata=ObjectMeta(name=f"low-{number}-{place}", namespace="bench"),
                spec=spec,
                status=PodStatus(start_time=started),
            )


def an_important_pod(number: int) -> Pod:
    shape = number % SHAPES
    requests = {"cpu": f"{3500 + shape * 10}m", "memory": f"{128 + shape * 16}Mi"}
    name = f"high-{number}"
    return Pod(
        metadata=ObjectMeta(name=name, namespace="bench", uid=name), spec=_spec(requests, HIGH)
    )


def _spec(requests: dict[str, str], priority: int, node: str = "") -> PodSpec:
    container = Container(name="main", resources=ContainerResources(requests=requests))
    return PodSpec(containers=(container,), priority=priority, node_name=node)
