"""Pools that are labelled in Ceph, as they were when monitors were asked last."""

from collections.abc import Collection, Sequence

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool
from plimsoll.decide.ceph.labelled_pools import PoolMetadata, labelled_pools


class LabelledPools:
    def __init__(self, application: str) -> None:
        self._application = application
        self._metadata: PoolMetadata = {}

    def learn(self, metadata: PoolMetadata, only: Collection[str] | None = None) -> None:
        """`only`: the pools that volumes can be in, by name; None: any."""
        self._metadata = {
            name: labels for name, labels in metadata.items() if only is None or name in only
        }

    def of_group(self, group: str) -> Sequence[ConstrainedPool]:
        return labelled_pools(self._metadata, application=self._application, group=group)
