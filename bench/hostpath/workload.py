"""What is played: how many pods on how many nodes, and how they are scheduled."""

from dataclasses import dataclass, replace
from typing import Final

MIB = 2**20
FEWEST_PODS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Pods that come at once, and take the last byte of every node."""

    name: str
    nodes: int
    pods_per_node: int
    volume_mib: int
    claims_per_pod: int = 1

    @property
    def pods(self) -> int:
        return self.nodes * self.pods_per_node

    @property
    def pool_bytes(self) -> int:
        """Of each node: room for its share of the volumes, and not a byte more."""
        return self.pods_per_node * self.claims_per_pod * self.volume_mib * MIB

    def scaled(self, scale: float) -> "Load":
        """With fewer pods, or more, on each of the same nodes."""
        wanted = max(FEWEST_PODS, round(self.pods_per_node * scale))
        return replace(self, pods_per_node=wanted)

    def __str__(self) -> str:
        claims = f" of {self.claims_per_pod} claims" if self.claims_per_pod > 1 else ""
        size = f"{self.volume_mib // 1024}Gi"
        return f"{self.name}: {self.nodes} nodes x {self.pods_per_node} pods{claims}, {size} each"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Who schedules the pods, and what it knows of capacity."""

    name: str
    policy: str = "default"
    is_tracked: bool = True
    has_groups: bool = True
    """Whether the scheduler reads the provisioner's records, without which volumes of a pod are
    not held back for each other."""


DEFAULT: Final = Setting(name="default")
COMPATIBLE: Final = Setting(name="compatible", policy="compatible")
UNTRACKED: Final = Setting(name="untracked", policy="compatible", is_tracked=False)
APART: Final = Setting(name="apart", has_groups=False)
"""Default, but each volume of a pod is made for itself: what making them together costs."""

SETTINGS = {each.name: each for each in (DEFAULT, COMPATIBLE, UNTRACKED)}
LOADS = {
    each.name: each
    for each in (
        Load(name="A", nodes=10, pods_per_node=100, volume_mib=1024),
        Load(name="B", nodes=100, pods_per_node=100, volume_mib=1024),
        Load(name="C", nodes=10, pods_per_node=20, volume_mib=5 * 1024),
        Load(name="D", nodes=10, pods_per_node=50, volume_mib=1024, claims_per_pod=2),
    )
}


def settings_of(load: Load, chosen: tuple[Setting, ...]) -> tuple[Setting, ...]:
    """Pods with several claims are there to tell what groups cost: by one policy, with and
    without them. The other settings would leave some of these pods without their last volume."""
    if load.claims_per_pod == 1:
        return chosen
    return (DEFAULT, APART) if DEFAULT in chosen else ()
