"""Where the nodes of a driver are at this moment: by that their domains are fenced."""

from dataclasses import replace

from plimsoll.decide.ceph.journal.fences import MOST_LABELS
from plimsoll.processes.driver.settings import BackendSettings, NodeSettings
from plimsoll.wire.csi.refusals import failed_precondition, unavailable


class LocatedNodes:
    def __init__(self, settings: BackendSettings) -> None:
        self._nodes = {node.id: node for node in settings.nodes}
        self._homes = settings.homes

    def at(self, node_id: str) -> NodeSettings:
        """With what labels tell of it now. Raises CsiStatusError."""
        if status := self._homes.why_unknown(node_id):
            raise unavailable(status)
        node = self._nodes[node_id]
        found = replace(node, topology={**node.topology, **self._homes.told(node_id)})
        if len(found.topology) > MOST_LABELS:
            raise failed_precondition(
                f"node {node.id}: has {len(found.topology)} topology labels, and a fence knows"
                f" {MOST_LABELS} at most; advertise fewer"
            )
        return found
