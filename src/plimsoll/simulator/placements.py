"""Checks where pods are put: by rules about other pods, and by preemption.

A scheduler knows the pods that it has placed itself. What another one has done it learns by its
watch, which may be behind: two pods are held against it only if it has placed both, and knew that
the first was on its node. That is so with kube-scheduler as well.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from plimsoll.api.registry import Document
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.wire.transport import Request, Response

STALE_SECONDS = 120.0
"""Longer than any watch of a scheduler is behind."""
SUCCESS = range(200, 300)
Pods = Mapping[str, Document]
Nodes = Mapping[str, Document]


class PlacementWatch:
    """Is told every change of pods and nodes, and every write."""

    def __init__(self) -> None:
        self._placed_by: dict[str, SimulatedProcess] = {}
        """By the uid of the pod: the life of a scheduler that knows that it has placed it."""
        self._senders: dict[str, list[SimulatedProcess]] = {}
        """By the uid of the pod: the lives that have tried to put it on a node."""
        self._waited: dict[str, tuple[int, float | None]] = {}
        """Pods without a node by uid: their priority, and until when; None: still."""
        self._unsettled: set[str] = set()
        """Names of StatefulSets and bursts of which several pods waited at once, or one has left:
        then no later moment tells what the scheduler saw."""
        self._nodes: frozenset[str] = frozenset()
        self._nodes_changed = False

    def node_changed(self, nodes: Nodes, *, has_pods: bool) -> None:
        """One has come or gone, or was changed."""
        names = frozenset(nodes)
        if has_pods and names != self._nodes:
            self._nodes_changed = True
        self._nodes = names

    def pod_changed(self, now: float, pod: Document, pods: Pods, *, is_gone: bool) -> None:
        metadata = pod["metadata"]
        uid, app = metadata["uid"], _app(pod)
        waits = not is_gone and not pod["spec"].get("nodeName")
        if waits:
            self._waited[uid] = (_priority(pod), None)
            if any(_is_waiting(each) and each is not pod for each in _alike(app, pods)):
                self._unsettled.add(app)
        elif uid in self._waited and self._waited[uid][1] is None:
            self._waited[uid] = (_priority(pod), now)
        if is_gone or "deletionTimestamp" in metadata or _is_finished(pod):
            self._unsettled.add(app)

    def written(
        self, now: float, sender: SimulatedProcess, request: Request, pods: Pods
    ) -> str | None:
        """What is wrong about a pod that a scheduler deletes."""
        if not _is_scheduler(sender):
            return None
        if (pod := pods.get(_bound_by(request))) is not None:
            self._senders.setdefault(pod["metadata"]["uid"], []).append(sender)
        victim = pods.get(_deleted_by(request))
        return None if victim is None else self._evicted(now, sender, victim)

    def answered(
        self, sender: SimulatedProcess, request: Request, response: Response | None, pods: Pods
    ) -> None:
        """The sender knows that its write has succeeded, and may be held to it."""
        if response is None or response.status not in SUCCESS or not _is_scheduler(sender):
            return
        if (pod := pods.get(_bound_by(request))) is not None:
            self._placed_by[pod["metadata"]["uid"]] = sender

    def _evicted(self, now: float, sender: SimulatedProcess, victim: Document) -> str | None:
        since = now - STALE_SECONDS
        waited = [
            priority for priority, until in self._waited.values() if until is None or until >= since
        ]
        if any(priority > _priority(victim) for priority in waited):
            return None
        name = _name(victim)
        return f"{sender.name} evicted pod {name}, and no pod waited that is more important"

    def _binder(self, pod: Document) -> SimulatedProcess | None:
        """None: it is not known which of several it was."""
        senders = self._senders.get(pod["metadata"]["uid"], [])
        return senders[0] if len({id(each) for each in senders}) == 1 else None

    def too_near(self, pod: Document, pods: Pods, nodes: Nodes) -> Iterator[str]:
        """Of a pod that has got its node: pods which the same scheduler has placed nearby although
        one of the two avoids the other."""
        sender = self._binder(pod)
        for other in pods.values():
            uid = other["metadata"]["uid"]
            if sender is None or self._placed_by.get(uid) is not sender or _is_finished(other):
                continue
            if uid == pod["metadata"]["uid"]:
                continue
            for one, two in ((pod, other), (other, pod)):
                for key, labels in _avoided(one):
                    if labels == _app(two) and _is_same(key, one, two, nodes):
                        yield f"pod {_name(one)} is near {_name(two)}, which it avoids by {key}"

    def skew(self, pod: Document, pods: Pods, nodes: Nodes) -> Iterator[str]:
        """Of a pod that has got its node: constraints that its place violates, as far as what is
        there now tells it."""
        app, sender = _app(pod), self._binder(pod)
        if sender is None or self._nodes_changed or app in self._unsettled:
            return
        others = [each for each in _alike(app, pods) if each["spec"].get("nodeName")]
        uid = pod["metadata"]["uid"]
        if any(
            self._placed_by.get(each["metadata"]["uid"]) is not sender
            for each in others
            if each["metadata"]["uid"] != uid
        ):
            return
        for constraint in pod["spec"].get("topologySpreadConstraints") or ():
            key = constraint["topologyKey"]
            counts = Counter({_domain(node, key): 0 for node in nodes.values()})
            counts.update(_domain(nodes.get(each["spec"]["nodeName"]), key) for each in others)
            here = _domain(nodes.get(pod["spec"]["nodeName"]), key)
            if counts[here] - min(counts.values()) > constraint["maxSkew"]:
                told = ", ".join(f"{name} {counts[name]}" for name in sorted(counts))
                yield f"pod {_name(pod)} went to {here}: {told}"


def _is_scheduler(sender: SimulatedProcess) -> bool:
    """Those without an election too."""
    return sender.name.startswith("scheduler")


def _bound_by(request: Request) -> str:
    """The pod, as `namespace/name`, that the request puts on a node; empty: it does not."""
    path = request.path.split("/")
    return f"{path[-4]}/{path[-2]}" if path[-1] == "binding" else ""


def _deleted_by(request: Request) -> str:
    path = request.path.split("/")
    is_pod = request.method == "DELETE" and path[-2] == "pods"
    return f"{path[-3]}/{path[-1]}" if is_pod else ""


def promised_node(pod: Document) -> str:
    """That the pod is nominated for while it has none; empty: none."""
    nominated = (pod.get("status") or {}).get("nominatedNodeName", "")
    return "" if pod["spec"].get("nodeName") else nominated


def _app(pod: Document) -> str:
    return str((pod["metadata"].get("labels") or {}).get("app", ""))


def _name(pod: Document) -> str:
    return str(pod["metadata"]["name"])


def _priority(pod: Document) -> int:
    return int(pod["spec"].get("priority") or 0)


def _alike(app: str, pods: Pods) -> Iterator[Document]:
    return (each for each in pods.values() if _app(each) == app and not _is_finished(each))


def _is_waiting(pod: Document) -> bool:
    return not pod["spec"].get("nodeName")


def _is_finished(pod: Document) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _avoided(pod: Document) -> Iterator[tuple[str, str]]:
    """The topology keys and the names of pods that it must not be near to."""
    affinity = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        yield term["topologyKey"], term["labelSelector"]["matchLabels"]["app"]


def _domain(node: Document | None, key: str) -> str:
    return "" if node is None else str((node["metadata"].get("labels") or {}).get(key, ""))


def _is_same(key: str, one: Document, two: Document, nodes: Nodes) -> bool:
    domains = [_domain(nodes.get(each["spec"].get("nodeName", "")), key) for each in (one, two)]
    return bool(domains[0]) and domains[0] == domains[1]
