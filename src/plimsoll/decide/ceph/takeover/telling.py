"""Turns decisions about takeovers into plans: labels of nodes, the map, and events for users."""

from collections.abc import Iterable
from enum import StrEnum

from plimsoll.api.core import ConfigMap, Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.annotations import AUTO_TAKEOVER
from plimsoll.decide.ceph.domain_labels import DomainLabels, HomeDomain, find_home_domain
from plimsoll.decide.ceph.takeover.auto_takeover import AddTakeover, EndTakeover
from plimsoll.decide.ceph.takeover.served_domains import NodeLabelChange
from plimsoll.decide.ceph.takeover.served_labels import (
    SERVED,
    SERVES,
    served_label,
    wider_paths,
)
from plimsoll.decide.ceph.takeover.takeover_map import ALL, with_takeover, without_takeover
from plimsoll.decide.plan import Create, Emit, EventType, Patch, Plan, Write
from plimsoll.decide.resources import CONFIG_MAPS, NODES


class TakeoverReason(StrEnum):
    """Of plans and events about takeovers."""

    SERVED = "DomainServed"
    """A node serves a domain that it has taken over."""
    GIVEN_BACK = "DomainGivenBack"
    """A node does not serve a domain any more that it had taken over."""
    HOME = "HomeDomainServed"
    """A node serves the domains that it is in."""
    NODE_FENCED = "NodeFenced"
    """A node does not serve its own domain: that is fenced, and the node can use no volume."""
    FENCED = "DomainFenced"
    """Nothing in the domain can write any more, so that others may take it over."""
    RELEASED = "DomainReleased"
    """No node outside of the domain depends on it, and its own nodes may write again."""
    WAITS = "TakeoverWaits"
    """The domain cannot be fenced yet, so no other node serves it."""
    REFUSED = "TakeoverRefused"
    """Pools would not survive the loss of the domain."""
    GIVEBACK_WAITS = "GivebackWaits"
    """Pods or nodes outside of the domain still depend on it."""
    NOT_SERVED = "DomainNotServed"
    """A pod came to a node when that had given the domain of its volume back. The pod has failed,
    so that its owner makes another one."""
    MAP_NOT_UNDERSTOOD = "TakeoverMapNotUnderstood"
    """Nothing is taken over anew and nothing is given back until the map is corrected."""
    LOST = "DomainLost"
    """The controller has written the takeover of a lost domain into the map."""
    BACK = "DomainBack"
    """The controller has taken an entry of its own off the map, because the domain is back."""
    LEFT_TO_PEOPLE = "DomainLostNotTakenOver"
    """A domain is lost, and the controller does not take it over by itself."""


WARNINGS = frozenset(
    {
        TakeoverReason.WAITS,
        TakeoverReason.REFUSED,
        TakeoverReason.MAP_NOT_UNDERSTOOD,
        TakeoverReason.LOST,
        TakeoverReason.LEFT_TO_PEOPLE,
    }
)


def _event(regarding: Document, reason: TakeoverReason, message: str) -> Emit:
    type_ = EventType.WARNING if reason in WARNINGS else EventType.NORMAL
    return Emit(regarding=regarding, type=type_, reason=reason, message=message)


def tell_of_map(key: ObjectKey, map_: ConfigMap | None, reason: TakeoverReason, text: str) -> Emit:
    """About the config map, whether it exists or not."""
    metadata: Document = {"namespace": key.namespace, "name": key.name}
    if map_ is not None:
        metadata["uid"] = map_.uid
    regarding: Document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    return _event(regarding, reason, text)


def label_plan(domains: DomainLabels, node: Node, change: NodeLabelChange) -> Plan:
    """On the version of the node that was decided on."""
    labels: dict[str, str | None] = dict.fromkeys(change.added, SERVED)
    labels |= dict.fromkeys(change.removed)
    patch = Patch(
        resource=NODES,
        key=node.key,
        patch={"metadata": {"labels": labels}},
        version=node.metadata.resource_version,
        uid=node.uid,
    )
    told = [*_told(node, change, _own_labels(domains, node))]
    reason = TakeoverReason(told[0].reason) if told else TakeoverReason.HOME
    return Plan(reason=reason, writes=(patch, *told))


def _own_labels(domains: DomainLabels, node: Node) -> frozenset[str]:
    home = find_home_domain(domains, node, node_name=node.name)
    path = home.path if isinstance(home, HomeDomain) else ()
    return frozenset(served_label(domains.driver, wider) for wider in wider_paths(path))


def _told(node: Node, change: NodeLabelChange, own: frozenset[str]) -> Iterable[Emit]:
    """Nothing of labels that a node gets because of where it is."""
    regarding: Document = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "uid": node.uid},
    }
    if taken := _names(label for label in change.added if label not in own):
        text = f"Node {node.name} serves {taken}, which it has taken over."
        yield _event(regarding, TakeoverReason.SERVED, text)
    if given := _names(label for label in change.removed if label not in own):
        text = f"Node {node.name} does not serve {given} any more."
        yield _event(regarding, TakeoverReason.GIVEN_BACK, text)
    if lost := _names(label for label in change.removed if label in own):
        text = f"Node {node.name} does not serve {lost}: the domain is fenced."
        yield _event(regarding, TakeoverReason.NODE_FENCED, text)


def _names(labels: Iterable[str]) -> str:
    return ", ".join(sorted(label.partition(f"/{SERVES}")[2] for label in labels))


def edit_plan(
    place: tuple[ObjectKey, str], map_: ConfigMap | None, step: AddTakeover | EndTakeover
) -> Plan:
    """Edit the map at a key of a config map. Raises ValueError for a map that cannot be edited."""
    (key, entry), own = place, own_sources(map_)
    text = "" if map_ is None else map_.data.get(entry, "")
    if isinstance(step, AddTakeover):
        reason, sources = TakeoverReason.LOST, {*own, step.source}
        text = with_takeover(text, step.source, (ALL,))
    else:
        reason, sources = TakeoverReason.BACK, own - {step.source}
        text = without_takeover(text, step.source)
    return Plan(
        reason=reason,
        writes=(
            _map_write(key, map_, {entry: text}, sources),
            tell_of_map(key, map_, reason, step.why),
        ),
    )


def _map_write(
    key: ObjectKey, map_: ConfigMap | None, data: dict[str, str], own: set[str]
) -> Write:
    mark = {AUTO_TAKEOVER: ",".join(sorted(own)) or None}
    if map_ is None:
        metadata = {"namespace": key.namespace, "name": key.name, "annotations": mark}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        return Create(resource=CONFIG_MAPS, document=document)
    return Patch(
        resource=CONFIG_MAPS,
        key=key,
        patch={"metadata": {"annotations": mark}, "data": data},
        version=map_.metadata.resource_version,
        uid=map_.uid,
    )


def own_sources(map_: ConfigMap | None) -> set[str]:
    """Entries that the controller itself has written."""
    text = "" if map_ is None else map_.annotations.get(AUTO_TAKEOVER, "")
    return {name for name in text.split(",") if name}


def rehearsal(step: AddTakeover | EndTakeover) -> str:
    what = "would be taken over" if isinstance(step, AddTakeover) else "would be given back"
    return f"{step.why} {step.source} {what} (dry run)."
