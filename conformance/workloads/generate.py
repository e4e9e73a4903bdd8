"""What a seed stands for: some nodes, and pods that come and go one after the other.

The nodes have zones, labels, taints and little room. The pods ask for everything that
kube-scheduler's default plugins look at: labels and names of nodes, taints, host ports, resources,
the nearness of other pods, an even spread, and volumes that are bound already. All names are
without the workload's own suffix, which `play` adds.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from plimsoll.api.registry import Document

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
APPS = ("web", "db", "cache")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class WorkloadNode:
    name: str
    labels: dict[str, str]
    taints: list[Document]
    allocatable: dict[str, str]


@dataclass(frozen=True, slots=True)
class AddPod:
    name: str
    labels: dict[str, str]
    spec: Document
    volume_zone: str | None
    """Where its bound volume can be reached from; None: it has no volume."""


@dataclass(frozen=True, slots=True)
class RemovePod:
    """One that came before; it may have no node."""

    name: str


@dataclass(frozen=True, slots=True)
class Workload:
    seed: int
    nodes: tuple[WorkloadNode, ...]
    service_app: str | None
    """An app with a Service, by which pods are spread by default; None: no app has one."""
    steps: tuple[AddPod | RemovePod, ...]


def a_workload(seed: int) -> Workload:
    return _Generator(Random(seed)).workload(seed)


@dataclass(slots=True)
class _Generator:
    chance: Random
    zones: list[str] = field(default_factory=list)

    def workload(self, seed: int) -> Workload:
        self.zones = ["a", "b", "c"][: self.chance.randint(1, 3)]
        nodes = tuple(self._node(number) for number in range(self.chance.randint(2, 6)))
        steps: list[AddPod | RemovePod] = []
        for number in range(self.chance.randint(6, 12)):
            steps.append(self._pod(f"pod-{number}"))
            if self._one_in(6):
                steps.append(RemovePod(f"pod-{self.chance.randint(0, number)}"))
        service = self.chance.choice(APPS) if self._one_in(2) else None
        return Workload(seed, nodes, service, tuple(steps))

    def _one_in(self, number: int) -> bool:
        return self.chance.randrange(number) == 0

    def _node(self, number: int) -> WorkloadNode:
        labels = {} if self._one_in(6) else {ZONE: self.chance.choice(self.zones)}
        if self._one_in(2):
            labels["disk"] = self.chance.choice(("ssd", "hdd"))
        taints = [] if not self._one_in(4) else [self._taint()]
        room = {
            "cpu": str(self.chance.choice((1, 2, 4))),
            "memory": f"{self.chance.choice((1, 2, 4))}Gi",
            "pods": str(self.chance.choice((3, 5, 110))),
        }
        return WorkloadNode(f"node-{number}", labels, taints, room)

    def _taint(self) -> Document:
        return {"key": "team", "value": "red", "effect": self.chance.choice(EFFECTS)}

    def _pod(self, name: str) -> AddPod:
        app = self.chance.choice(APPS)
        spec: Document = {"containers": [self._container()]}
        if self._one_in(5):
            spec["nodeSelector"] = {"disk": self.chance.choice(("ssd", "hdd"))}
        if self._one_in(3):
            spec["tolerations"] = [{"key": "team", "operator": "Exists"}]
        if affinity := self._affinity():
            spec["affinity"] = affinity
        if self._one_in(3):
            spec["topologySpreadConstraints"] = [
                self._constraint(key)
                for key in self.chance.sample((HOSTNAME, ZONE), self.chance.randint(1, 2))
            ]
        zone = self.chance.choice(self.zones) if self._one_in(5) else None
        labels = {"app": app, "version": self.chance.choice(("1", "2"))}
        return AddPod(name, labels, spec, zone)

    def _container(self) -> Document:
        container: Document = {"name": "main", "image": "pause"}
        if self._one_in(2):
            container["resources"] = {
                "requests": {
                    "cpu": f"{self.chance.choice((100, 300, 700, 1500))}m",
                    "memory": f"{self.chance.choice((100, 300, 900))}Mi",
                }
            }
        if self._one_in(5):
            port = self.chance.choice((8080, 8081))
            container["ports"] = [{"containerPort": port, "hostPort": port}]
        return container

    def _affinity(self) -> Document:
        affinity: Document = {}
        if self._one_in(4):
            affinity["nodeAffinity"] = self._node_affinity()
        if self._one_in(4):
            affinity["podAffinity"] = self._pod_affinity()
        if self._one_in(3):
            affinity["podAntiAffinity"] = self._pod_affinity()
        return affinity

    def _node_affinity(self) -> Document:
        operator = self.chance.choice(("In", "NotIn"))
        expression = {"key": ZONE, "operator": operator, "values": [self.chance.choice(self.zones)]}
        term = {"matchExpressions": [expression]}
        if self._one_in(2):
            return {REQUIRED: {"nodeSelectorTerms": [term]}}
        return {PREFERRED: [{"weight": self.chance.randint(1, 100), "preference": term}]}

    def _pod_affinity(self) -> Document:
        if self._one_in(2):
            return {REQUIRED: [self._pod_term()]}
        weight = self.chance.randint(1, 100)
        return {PREFERRED: [{"weight": weight, "podAffinityTerm": self._pod_term()}]}

    def _pod_term(self) -> Document:
        term: dict[str, Any] = {
            "topologyKey": self.chance.choice((HOSTNAME, ZONE)),
            "labelSelector": {"matchLabels": {"app": self.chance.choice(APPS)}},
        }
        if self._one_in(4):
            term["matchLabelKeys"] = ["version"]
        return term

    def _constraint(self, key: str) -> Document:
        constraint: dict[str, Any] = {
            "maxSkew": self.chance.randint(1, 2),
            "topologyKey": key,
            "whenUnsatisfiable": self.chance.choice((HARD, SOFT)),
            "labelSelector": {"matchLabels": {"app": self.chance.choice(APPS)}},
        }
        if constraint["whenUnsatisfiable"] == HARD and self._one_in(4):
            constraint["minDomains"] = self.chance.randint(1, 3)
        if self._one_in(4):
            constraint["nodeTaintsPolicy"] = "Honor"
        if self._one_in(4):
            constraint["matchLabelKeys"] = ["version"]
        return constraint
