"""What monitors tell about pools, read into what capacity is decided from: pure.

Free space that Ceph reports does not fall while OSDs are down, so their tree is looked at as well:
a pool is up if as many copies as it needs to be written to can be on OSDs that are up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.decide.ceph.crush_copies import copies_up, parse_tree
from plimsoll.decide.ceph.pool_capacity import CephPoolUsage

APPLICATION = "rbd"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReport:
    """Answers of monitors, as they are."""

    df: Any
    pools: Any
    tree: Any
    rules: Any
    applications: Mapping[str, Mapping[str, Any]]

    def usages(self, application: str = APPLICATION) -> dict[str, CephPoolUsage]:
        """By name; of the pools that are meant for the application."""
        told = {item["name"]: item["stats"] for item in self.df["pools"]}
        return {
            item["pool_name"]: self._usage(told.get(item["pool_name"]), item)
            for item in self.used_pools(application)
        }

    def _usage(self, stats: Mapping[str, int] | None, pool: Mapping[str, Any]) -> CephPoolUsage:
        # One that is down has no room, whatever its figures are.
        is_up = self._is_up(pool)
        if stats is None:
            return CephPoolUsage(max_avail_bytes=0, is_up=is_up, is_measured=not is_up)
        return CephPoolUsage(
            max_avail_bytes=_figure(stats["max_avail"]),
            stored_bytes=_figure(stats["stored"]),
            quota_bytes=stats["quota_bytes"],
            is_up=is_up,
            is_measured=not is_up or not _is_below_zero(stats["max_avail"]),
        )

    def _is_up(self, pool: Mapping[str, Any]) -> bool:
        tree, size = parse_tree(self.tree), int(pool["size"])
        return copies_up(tree, self.steps_of(pool), size) >= int(pool["min_size"])

    def down_pools(self) -> frozenset[int]:
        """The ids of those that no data can be written to."""
        return frozenset(int(item["pool_id"]) for item in self.pools if not self._is_up(item))

    def writable_pools(self, application: str = APPLICATION) -> Sequence[str]:
        """The names of those that are meant for the application and not down; also while no manager
        has told their figures."""
        used = self.used_pools(application)
        return [item["pool_name"] for item in used if self._is_up(item)]

    def used_pools(self, application: str = APPLICATION) -> Sequence[Mapping[str, Any]]:
        """The details of those that are meant for the application."""
        return [
            item
            for item in self.pools
            if application in self.applications.get(item["pool_name"], ())
        ]

    def steps_of(self, pool: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Of the rule that places it; empty: there is no such rule."""
        rules = [rule for rule in self.rules if rule["rule_id"] == pool["crush_rule"]]
        found: Sequence[Mapping[str, Any]] = rules[0]["steps"] if rules else ()
        return found


def _figure(told: int) -> int:
    return 0 if _is_below_zero(told) else told


def _is_below_zero(told: int) -> bool:
    """Monitors tell such a number as one near 2**64. They come to it while an OSD that was started
    has not told them its size: what has to stay free is more than there seems to be."""
    return told >= 1 << 63
