"""The way of a volume out of a pod: unpublish, then unstage when no pod on the node uses it.

Decided from what the node holds, not from objects: those may be gone by then.
"""

from collections.abc import Collection
from dataclasses import dataclass

from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.actual_state import ActualState, PublishedVolume, StagedVolume


@dataclass(frozen=True, slots=True)
class NodeUnpublish:
    entry: PublishedVolume


@dataclass(frozen=True, slots=True)
class Unstage:
    entry: StagedVolume


@dataclass(frozen=True, slots=True)
class Clean:
    """No driver has anything to do for the pod any more: its directory may go."""


def next_teardown(uid: str, actual: ActualState) -> NodeUnpublish | Clean:
    published = actual.of_pod(uid)
    return NodeUnpublish(published[0]) if published else Clean()


def unused(actual: ActualState, wanted: Collection[Device]) -> list[Unstage]:
    """Devices that are staged and that no pod uses.

    `wanted` are devices that pods which stay on the node use, or wait for.
    """
    return [
        Unstage(actual.staged[device])
        for device in sorted(actual.staged)
        if device not in wanted and not any(actual.users(device))
    ]
