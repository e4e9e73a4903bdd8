"""What users ask for beside volumes when they say where their pods may go, and who goes first."""

from typing import Literal

from plimsoll.api.registry import Document
from plimsoll.simulator.cluster.shape import ZONE
from plimsoll.simulator.scenario.user import NAMESPACE, Action, ClusterUser

HOSTNAME = "kubernetes.io/hostname"
Level = Literal["", "host", "zone"]
LEVELS: dict[Level, str] = {"host": HOSTNAME, "zone": ZONE}
"""By the words of scenario files."""


class PlacedPods(Action, frozen=True, kw_only=True):
    """Pods that are created, with rules for their places."""

    name: str
    priority: int = 0
    """With more than zero they preempt less important pods."""
    apart: Level = ""
    """No two of them on one `host`, or in one `zone`; empty: anywhere."""
    spread: Level = ""
    """The hosts or zones have as many of them each, or one more; empty: they need not."""


async def create_priority_class(wanted: PlacedPods, user: ClusterUser) -> None:
    """Without it, the pods would be refused."""
    if wanted.priority:
        await user.create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": _priority_class(wanted)},
                "value": wanted.priority,
            }
        )


def with_rules(spec: Document, wanted: PlacedPods) -> Document:
    """The spec of a pod, with what is wanted of its place."""
    alike = {"matchLabels": {"app": wanted.name}}
    placed = dict(spec)
    if wanted.priority:
        placed["priorityClassName"] = _priority_class(wanted)
    if wanted.apart:
        term = {"labelSelector": alike, "topologyKey": LEVELS[wanted.apart]}
        placed["affinity"] = {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        }
    if wanted.spread:
        placed["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": LEVELS[wanted.spread],
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": alike,
            }
        ]
    return placed


def _priority_class(wanted: PlacedPods) -> str:
    return f"priority-{wanted.priority}"


class CreateBudget(Action, frozen=True, kw_only=True, tag="createBudget"):
    """How many pods of a name may be missing at a time because others want their place."""

    name: str
    max_unavailable: int = 0

    async def carry_out(self, user: ClusterUser) -> None:
        await user.create(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": self.name, "namespace": NAMESPACE},
                "spec": {
                    "maxUnavailable": self.max_unavailable,
                    "selector": {"matchLabels": {"app": self.name}},
                },
            }
        )
