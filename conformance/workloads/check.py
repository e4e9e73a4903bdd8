"""Whether a choice of node is one that the rules allow, and the best by their scores.

The rules are those of `decide.scheduling` with kube-scheduler's policy, which the oracles have
tested. They look at the cluster as it was when the pod came.
"""

import numpy as np

from plimsoll.api.core import Namespace, Node, Service
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.rule_fit import Rejected

TYPES: dict[str, type[ApiObject]] = {
    type_.__name__: type_
    for type_ in (Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service)
}


class Referee:
    """Follows one cluster."""

    def __init__(self) -> None:
        self._columns = Columns()
        self._kernel = Kernel(self._columns, KernelSettings(policy=Policy.COMPATIBLE))

    def put(self, kind: str, document: Document) -> None:
        self._columns.put(from_document(TYPES[kind], document))

    def remove_pod(self, document: Document) -> None:
        self._columns.remove(from_document(Pod, document))

    def best_nodes(self, pod: Document) -> set[str]:
        """The nodes that a pod without one may get; none: it has to wait."""
        judged = self._kernel.judge(from_document(Pod, pod))
        if isinstance(judged, Rejected) or not judged.is_feasible.any():
            return set()
        totals = np.where(judged.is_feasible, judged.totals(), -1)
        return {self._columns.index.names[slot] for slot in np.flatnonzero(totals == totals.max())}
