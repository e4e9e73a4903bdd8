"""Where the nodes of a driver are, as far as labels of Node objects tell it.

This changes while the driver runs. A node that no labels are read for is where its settings say.
"""

from collections.abc import Mapping

from plimsoll.decide.ceph.domain_labels import DomainNotKnown
from plimsoll.decide.ceph.node_domain import AdvertisedDomain

NOTHING: Mapping[str, str] = {}


class NodeHomes:
    def __init__(self) -> None:
        self._found: dict[str, AdvertisedDomain] = {}
        """By the id of the node."""

    def put(self, node_id: str, found: AdvertisedDomain) -> None:
        self._found[node_id] = found

    def told(self, node_id: str) -> Mapping[str, str]:
        """What labels tell of the node at this moment, with full keys."""
        found = self._found.get(node_id)
        if found is None or isinstance(found, DomainNotKnown):
            return NOTHING
        return found.topology

    def why_unknown(self, node_id: str) -> str:
        """Why it cannot be said where the node is; empty: it can."""
        found = self._found.get(node_id)
        return found.status if isinstance(found, DomainNotKnown) else ""
