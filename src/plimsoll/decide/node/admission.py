"""Whether a node takes a pod that was put on it.

A scheduler decides on what it has observed; two of them, or one that observed too little, may put
more on a node than it has. The node decides last: such a pod fails at once, with the reason, so
that its owner can create another one elsewhere. Pods that were taken before count; those that wait
to be taken do not.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.api.quantity import parse_quantity
from plimsoll.api.selectors.node import RequiredNodes
from plimsoll.decide.scheduling.pod_requests import Amounts, held_by, requested_by

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    reason: str
    """As clients know it: OutOfcpu, NodeAffinity."""
    message: str


def find_rejection(pod: Pod, node: Node, others: Iterable[Pod]) -> Rejection | None:
    """`others` are the pods of the node that were taken and have not ended."""
    others = list(others)
    return _shortage(pod, node, others) or _mismatch(pod, node)


def is_taken(pod: Pod) -> bool:
    """Whether the node has reported that it takes the pod."""
    return pod.status.start_time is not None


def _mismatch(pod: Pod, node: Node) -> Rejection | None:
    required = RequiredNodes.of(pod.spec.node_selector, pod.spec.required_nodes)
    if required.matches(node.labels, node.name):
        return None
    message = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    return Rejection(reason="NodeAffinity", message=message)


def _shortage(pod: Pod, node: Node, others: list[Pod]) -> Rejection | None:
    allocatable = node.status.allocatable
    wanted, held = requested_by(pod), [held_by(other) for other in others]
    totals = (
        (PODS, 1, len(others)),
        (CPU, wanted.milli_cpu, sum(amounts.milli_cpu for amounts in held)),
        (MEMORY, wanted.memory, sum(amounts.memory for amounts in held)),
        (STORAGE, wanted.ephemeral_storage, sum(amounts.ephemeral_storage for amounts in held)),
        *_scalars(wanted, held),
    )
    for name, more, used in totals:
        if more and more > (limit := _limit(name, allocatable.get(name, "0"))) - used:
            message = (
                f"Node didn't have enough resource: {name}, "
                f"requested: {more}, used: {used}, capacity: {limit}"
            )
            return Rejection(reason=f"OutOf{name}", message=message)
    return None


def _scalars(wanted: Amounts, held: list[Amounts]) -> Iterable[tuple[str, int, int]]:
    for name, more in sorted(wanted.scalars.items()):
        yield name, more, sum(amounts.scalars.get(name, 0) for amounts in held)


def _limit(name: str, text: str) -> int:
    quantity = parse_quantity(text)
    return quantity.milli_value if name == CPU else quantity.value
