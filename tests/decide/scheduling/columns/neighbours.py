"""What random pods have to do with each other: labels, namespaces, host ports and affinity."""

from collections.abc import Sequence
from random import Random

from plimsoll.api.core import Namespace, Node
from plimsoll.api.meta import ApiObject, ObjectMeta
from plimsoll.api.pods import (
    Affinity,
    Container,
    ContainerPort,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    WeightedPodAffinityTerm,
)
from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec

NAMESPACES = ["default", "team-a", "team-b"]
"""Not all of them have an object in every cluster."""
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
KEYS = [ZONE, ZONE, HOST, HOST, "disk", "nowhere"]
HEAVIEST = 100

SELECTORS = [
    LabelSelectorSpec(match_labels={"app": "web"}),
    LabelSelectorSpec(match_labels={"app": "db"}),
    LabelSelectorSpec(match_labels={"app": "web", "tier": "front"}),
    LabelSelectorSpec(
        match_expressions=(LabelRequirementSpec(key="app", operator="In", values=("web", "db")),)
    ),
    LabelSelectorSpec(
        match_expressions=(LabelRequirementSpec(key="app", operator="NotIn", values=("web",)),)
    ),
    LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="tier", operator="Exists"),)),
    LabelSelectorSpec(),
    None,
]
NAMESPACE_SELECTORS = [
    LabelSelectorSpec(match_labels={"team": "a"}),
    LabelSelectorSpec(
        match_expressions=(LabelRequirementSpec(key="team", operator="DoesNotExist"),)
    ),
    LabelSelectorSpec(),
]
UNREADABLE = LabelSelectorSpec(
    match_expressions=(LabelRequirementSpec(key="app", operator="Nonsense"),)
)
PORTS = [
    ContainerPort(host_port=80),
    ContainerPort(host_port=80, host_ip="127.0.0.1"),
    ContainerPort(host_port=80, host_ip="10.0.0.1", protocol="TCP"),
    ContainerPort(host_port=80, protocol="UDP"),
    ContainerPort(host_port=8080, host_ip="0.0.0.0"),  # noqa: S104  nothing listens here
    ContainerPort(container_port=80),
]


def a_random_namespace(chance: Random) -> Namespace:
    labels = chance.choice([{}, {"team": "a"}, {"team": "b"}])
    return Namespace(metadata=ObjectMeta(name=chance.choice(NAMESPACES), labels=labels))


def pod_labels(chance: Random) -> dict[str, str]:
    found = {}
    if chance.random() < 0.8:
        found["app"] = chance.choice(["web", "web", "db"])
    if chance.random() < 0.4:
        found["tier"] = chance.choice(["front", "back"])
    if chance.random() < 0.4:
        found["hash"] = chance.choice(["1", "2"])
    return found


def some_ports(chance: Random) -> tuple[ContainerPort, ...]:
    return tuple(chance.sample(PORTS, chance.choice([0, 0, 0, 1, 2])))


def some_affinity(chance: Random, *, broken: float = 0.02) -> PodAffinity | None:
    """Towards other pods, or away from them; `broken` is how often a selector makes no sense."""
    if chance.random() < 0.6:
        return None
    return PodAffinity(
        required=tuple(_term(chance, broken) for _ in range(_few(chance))),
        preferred=tuple(
            WeightedPodAffinityTerm(
                weight=chance.randint(1, HEAVIEST), pod_affinity_term=_term(chance, broken)
            )
            for _ in range(_few(chance))
        ),
    )


def _few(chance: Random) -> int:
    return chance.choice([0, 0, 1, 1, 2])


def _term(chance: Random, broken: float) -> PodAffinityTerm:
    is_broken = chance.random() < broken
    return PodAffinityTerm(
        topology_key=chance.choice(KEYS),
        label_selector=UNREADABLE if is_broken else chance.choice(SELECTORS),
        namespaces=_namespaces(chance),
        namespace_selector=chance.choice([None, None, None, *NAMESPACE_SELECTORS]),
    )


def _namespaces(chance: Random) -> tuple[str, ...]:
    named: Sequence[str] = chance.sample(NAMESPACES, chance.choice([0, 0, 0, 1, 2]))
    return tuple(named)


def a_crowd(chance: Random) -> list[ApiObject]:
    """A few nodes in two zones, full of pods that care for each other, and some namespaces."""
    nodes = [_a_place(chance, f"n{number}") for number in range(1, 6)]
    pods = [
        a_neighbour(chance, f"p{number}", chance.choice(nodes).name, broken=0.1)
        for number in range(chance.randint(0, 12))
    ]
    spaces = {each.name: each for each in (a_random_namespace(chance) for _ in range(3))}
    return [*nodes, *pods, *spaces.values()]


def _a_place(chance: Random, name: str) -> Node:
    labels = {HOST: name, ZONE: chance.choice("ab"), "disk": chance.choice(["ssd", "hdd"])}
    kept = {key: value for key, value in labels.items() if chance.random() < 0.85}
    return Node(metadata=ObjectMeta(name=name, labels=kept))


def a_neighbour(chance: Random, name: str, node: str = "", *, broken: float = 0.0) -> Pod:
    affinity = Affinity(
        pod_affinity=some_affinity(chance, broken=broken),
        pod_anti_affinity=some_affinity(chance, broken=broken),
    )
    return Pod(
        metadata=ObjectMeta(
            name=name, uid=name, namespace=chance.choice(NAMESPACES), labels=pod_labels(chance)
        ),
        spec=PodSpec(
            node_name=node, affinity=affinity, containers=(Container(ports=some_ports(chance)),)
        ),
    )
