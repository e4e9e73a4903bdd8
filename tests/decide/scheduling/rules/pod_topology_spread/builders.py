"""Pods with constraints, and clusters to spread them in."""

import msgspec

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod, TopologySpreadConstraint
from plimsoll.api.selectors.label import LabelSelectorSpec
from tests.builders import ZONE, a_node, a_pod

WEB = LabelSelectorSpec(match_labels={"app": "web"})


def a_constraint(
    key: str = ZONE,
    *,
    max_skew: int = 1,
    is_hard: bool = True,
    selector: LabelSelectorSpec | None = WEB,
) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        topology_key=key,
        max_skew=max_skew,
        when_unsatisfiable="DoNotSchedule" if is_hard else "ScheduleAnyway",
        label_selector=selector,
    )


def a_spread_pod(*constraints: TopologySpreadConstraint, name: str = "new") -> Pod:
    """It matches the selector of `a_constraint`."""
    pod = a_pod(name, labels={"app": "web"})
    spec = msgspec.structs.replace(pod.spec, topology_spread_constraints=constraints)
    return msgspec.structs.replace(pod, spec=spec)


def a_web_pod(node: str, number: int = 0) -> Pod:
    return a_pod(f"web-{node}-{number}", node=node, labels={"app": "web"})


def zonal_nodes(**zones: str) -> list[Node]:
    """By name, the zone of each."""
    return [a_node(name, labels={ZONE: zone}) for name, zone in zones.items()]
