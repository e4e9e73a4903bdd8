"""Random clusters that are crowded with pods which want each other near or far, and a change."""

from datetime import UTC, datetime
from random import Random

from plimsoll.api.core import Namespace, Node, NodeSpec, NodeStatus, Taint
from plimsoll.api.meta import ApiObject, ObjectMeta
from plimsoll.api.pods import (
    Affinity,
    Container,
    ContainerPort,
    ContainerResources,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    Toleration,
    TopologySpreadConstraint,
)
from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from tests.builders import HOSTNAME, ZONE, meta

NODES = ("n1", "n2", "n3")
NAMESPACES = ("default", "away")
KEYS = (ZONE, HOSTNAME, "rack")
APPS = ("web", "db")
TAINT = Taint(key="dedicated", effect="NoSchedule")
DELETED_AT = datetime(2025, 1, 1, tzinfo=UTC)


def a_node_of(chance: Random, name: str) -> Node:
    labels = {HOSTNAME: name} if chance.random() < 0.9 else {}
    for key, values in ((ZONE, "ab"), ("rack", "12"), ("disk", ("ssd", "hdd"))):
        if chance.random() < 0.7:
            labels[key] = chance.choice(values)
    room = {"cpu": chance.choice("123"), "memory": "8Gi", "pods": chance.choice("235")}
    spec = NodeSpec(
        unschedulable=chance.random() < 0.15, taints=(TAINT,) if chance.random() < 0.2 else ()
    )
    return Node(metadata=meta(name, labels=labels), spec=spec, status=NodeStatus(allocatable=room))


def a_pod_of(chance: Random, name: str, *, node: str = "") -> Pod:
    is_ending = bool(node) and chance.random() < 0.2
    metadata = ObjectMeta(
        name=name,
        namespace=chance.choice(NAMESPACES),
        uid=f"uid-{name}",
        labels=_pod_labels(chance),
        deletion_timestamp=DELETED_AT if is_ending else None,
    )
    return Pod(metadata=metadata, spec=_spec(chance, node))


def a_namespace_of(chance: Random, name: str) -> Namespace:
    return Namespace(metadata=meta(name, labels=_pod_labels(chance)))


def a_crowd(chance: Random) -> list[ApiObject]:
    nodes = [a_node_of(chance, name) for name in chance.sample(NODES, chance.randint(1, 3))]
    namespaces = [a_namespace_of(chance, name) for name in NAMESPACES if chance.random() < 0.8]
    pods = [_placed(chance, number) for number in range(chance.randint(0, 5))]
    return [*nodes, *namespaces, *pods]


def a_change(chance: Random, objects: list[ApiObject]) -> tuple[ApiObject | None, ApiObject | None]:
    """One object that comes, goes, or is another from now on."""
    before = chance.choice(objects) if chance.random() < 0.7 else None
    if before is not None and chance.random() < 0.4:
        return before, None
    after: ApiObject
    match before:
        case Node():
            after = a_node_of(chance, before.name)
        case Namespace():
            after = a_namespace_of(chance, before.name)
        case Pod():
            after = _changed(chance, before)
        case _:
            known = {object_.name for object_ in objects}
            free = [name for name in NODES if name not in known]
            after = _placed(chance, 9)
            if free and chance.random() < 0.5:
                after = a_node_of(chance, free[0])
    return before, after


def _changed(chance: Random, pod: Pod) -> Pod:
    """A pod keeps its spec, but for its requests."""
    other = a_pod_of(chance, pod.name, node=pod.spec.node_name)
    metadata = ObjectMeta(
        name=pod.name,
        namespace=pod.namespace,
        uid=pod.uid,
        labels=other.labels,
        deletion_timestamp=pod.metadata.deletion_timestamp or other.metadata.deletion_timestamp,
    )
    return Pod(metadata=metadata, spec=pod.spec)


def _placed(chance: Random, number: int) -> Pod:
    return a_pod_of(chance, f"p{number}", node=chance.choice(NODES))


def _pod_labels(chance: Random) -> dict[str, str]:
    labels = {"app": chance.choice(APPS)}
    if chance.random() < 0.5:
        labels["tier"] = chance.choice("xy")
    return labels


def _spec(chance: Random, node: str) -> PodSpec:
    ports = (ContainerPort(host_port=chance.choice((80, 81))),) if chance.random() < 0.2 else ()
    requests = {"cpu": chance.choice(("500m", "1", "2"))} if chance.random() < 0.6 else {}
    container = Container(name="c", ports=ports, resources=ContainerResources(requests=requests))
    affinity = Affinity(pod_affinity=_terms(chance, 0.3), pod_anti_affinity=_terms(chance, 0.4))
    return PodSpec(
        node_name=node,
        containers=(container,),
        affinity=affinity,
        node_selector={"disk": "ssd"} if chance.random() < 0.3 else {},
        tolerations=(Toleration(operator="Exists"),) if chance.random() < 0.2 else (),
        topology_spread_constraints=_constraints(chance),
    )


def _terms(chance: Random, likely: float) -> PodAffinity:
    number = chance.choice((1, 1, 2)) if chance.random() < likely else 0
    return PodAffinity(required=tuple(_term(chance) for _ in range(number)))


def _term(chance: Random) -> PodAffinityTerm:
    return PodAffinityTerm(
        topology_key=chance.choice(KEYS),
        label_selector=_selector(chance),
        namespaces=("away",) if chance.random() < 0.2 else (),
        namespace_selector=_selector(chance) if chance.random() < 0.3 else None,
    )


def _selector(chance: Random) -> LabelSelectorSpec:
    match chance.randrange(4):
        case 0:
            return LabelSelectorSpec()
        case 1:
            expression = LabelRequirementSpec(key="tier", operator="DoesNotExist")
            return LabelSelectorSpec(match_expressions=(expression,))
        case _:
            return LabelSelectorSpec(match_labels={"app": chance.choice(APPS)})


def _constraints(chance: Random) -> tuple[TopologySpreadConstraint, ...]:
    number = chance.choice((0, 0, 1, 2))
    return tuple(_constraint(chance) for _ in range(number))


def _constraint(chance: Random) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        max_skew=1,
        topology_key=chance.choice(KEYS),
        when_unsatisfiable="DoNotSchedule",
        label_selector=_selector(chance),
        min_domains=chance.choice((None, None, 2)),
        node_affinity_policy=chance.choice((None, "Ignore")),
        node_taints_policy=chance.choice((None, "Honor")),
        match_label_keys=("tier",) if chance.random() < 0.2 else (),
    )
