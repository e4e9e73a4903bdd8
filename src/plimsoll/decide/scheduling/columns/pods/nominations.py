"""Waiting pods to which a node was promised: other pods go there only if there is room for both.

A promise is made when pods with a lower priority are evicted for the pod, and is written to its
`status.nominatedNodeName`. Until the watch shows what was written, what was decided counts.
"""

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.changes import Log


class Nominations:
    def __init__(self) -> None:
        self._pods: dict[ObjectKey, Pod] = {}
        self._nodes: dict[ObjectKey, str] = {}
        """The node of each pod that has one."""
        self.by_node: dict[str, set[ObjectKey]] = {}
        """Nodes that were promised to some pod. Not to be written to."""
        self.changes: Log[str] = Log()
        """Nodes that were promised to other pods than before, or to pods that are others now."""

    def put(self, pod: Pod) -> None:
        """A pod that waits. What was decided for it counts until its status says something new."""
        before = self._pods.get(pod.key)
        self._pods[pod.key] = pod
        written = pod.status.nominated_node_name
        if before is None or (before.uid, before.status.nominated_node_name) != (pod.uid, written):
            self._set(pod.key, written)
        elif before is not pod and (node := self._nodes.get(pod.key)):
            self.changes.mark(node)

    def nominate(self, pod: Pod, node: str) -> None:
        """What was decided; an empty node takes the promise back."""
        if pod.key in self._pods:
            self._set(pod.key, node)

    def remove(self, key: ObjectKey) -> None:
        """It waits no longer."""
        if self._pods.pop(key, None) is not None:
            self._set(key, "")

    def node_of(self, pod: Pod) -> str:
        """Empty: none was promised."""
        known = self._pods.get(pod.key)
        if known is None or known.uid != pod.uid:
            return pod.status.nominated_node_name
        return self._nodes.get(pod.key, "")

    def waiting(self) -> list[Pod]:
        """All pods that wait, with a promise or without."""
        return [*self._pods.values()]

    def nodes(self) -> list[str]:
        """All that were promised to some pod."""
        return sorted(self.by_node)

    def on(self, node: str) -> list[Pod]:
        """In the order of their keys."""
        return [self._pods[key] for key in sorted(self.by_node.get(node, ()))]

    def counted_for(self, pod: Pod, node: str) -> list[Pod]:
        """Those that a pod must leave room for: others, and not less important than it."""
        if node not in self.by_node:
            return []
        return [each for each in self.on(node) if is_counted_for(pod, each)]

    def _set(self, key: ObjectKey, node: str) -> None:
        old = self._nodes.pop(key, "")
        for each in filter(None, (old, node)):
            self.changes.mark(each)
        if old:
            self.by_node[old].discard(key)
            if not self.by_node[old]:
                del self.by_node[old]
        if node:
            self._nodes[key] = node
            self.by_node.setdefault(node, set()).add(key)

    def take_over(self, other: "Nominations") -> None:
        """What the other was told of pods that wait, and what was decided for them."""
        for pod in other.waiting():
            self.put(pod)
            self.nominate(pod, other.node_of(pod))

    def fork(self) -> "Nominations":
        twin = Nominations()
        twin._pods, twin._nodes = self._pods.copy(), self._nodes.copy()
        twin.by_node = {node: keys.copy() for node, keys in self.by_node.items()}
        twin.changes = self.changes.fork()
        return twin


def is_counted_for(pod: Pod, nominated: Pod) -> bool:
    return nominated.uid != pod.uid and nominated.priority >= pod.priority
