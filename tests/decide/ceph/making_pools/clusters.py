"""What monitors of a small cluster tell, and what becomes of it when steps are carried out."""

from collections.abc import Mapping
from typing import Any

from plimsoll.decide.ceph.making_pools.crush_report import CrushReport
from plimsoll.decide.ceph.making_pools.crush_rules import CrushRule
from plimsoll.decide.ceph.making_pools.steps import (
    AddDataPool,
    AddRules,
    CreatePool,
    EnableApplication,
    LabelPool,
    PoolStep,
    SetMinSize,
)

TYPES = ("osd", "host", "rack", "zone", "root")


class SmallCluster:
    """Zones with so many hosts of one OSD each."""

    def __init__(self, **hosts: int) -> None:
        self.buckets: list[dict[str, Any]] = []
        self.rules: list[dict[str, Any]] = []
        self.pools: dict[str, dict[str, Any]] = {}
        self.data_pools: dict[str, list[str]] = {}
        """By file system."""
        self.osds = 0
        zones = [self._zone(name.replace("_", "-"), number) for name, number in hosts.items()]
        self._bucket("default", "root", zones)
        self._bucket("default~ssd", "root", zones)
        self.add_rule("replicated_rule", [{"op": "take", "item_name": "default"}])

    def _zone(self, name: str, hosts: int) -> int:
        found = []
        for number in range(hosts):
            found.append(self._bucket(f"{name}-host-{number}", "host", [self.osds]))
            self.osds += 1
        return self._bucket(name, "zone", found)

    def _bucket(self, name: str, kind: str, items: list[int]) -> int:
        own = -1 - len(self.buckets)
        listed = [{"id": item} for item in items]
        self.buckets.append({"id": own, "name": name, "type_name": kind, "items": listed})
        return own

    def add_rule(self, name: str, steps: list[dict[str, Any]]) -> None:
        number = len(self.rules)
        self.rules.append({"rule_id": number, "rule_name": name, "steps": steps})

    def report(self) -> CrushReport:
        types = [{"type_id": number, "name": name} for number, name in enumerate(TYPES)]
        crush = {"buckets": self.buckets, "rules": self.rules, "types": types}
        listed = [{"name": name, "data_pools": own} for name, own in self.data_pools.items()]
        return CrushReport(crush, list(self.pools.values()), listed)

    def carry_out(self, step: PoolStep) -> None:
        match step:
            case AddRules(rules):
                for rule in rules:
                    self.add_rule(rule.name, _steps(rule))
            case CreatePool(pool=pool, rule=rule, size=size):
                ids = {each["rule_name"]: each["rule_id"] for each in self.rules}
                self.pools[pool] = a_pool(pool, crush_rule=ids[rule], size=size)
            case SetMinSize(pool=pool, min_size=min_size):
                self.pools[pool]["min_size"] = min_size
            case EnableApplication(pool=pool, application=application):
                self.pools[pool]["application_metadata"][application] = {}
            case AddDataPool(pool=pool, file_system=file_system):
                self.data_pools[file_system].append(pool)
            case LabelPool(pool=pool, application=application, key=key, value=value):
                self.pools[pool]["application_metadata"][application][key] = value


def a_pool(name: str, **fields: Any) -> dict[str, Any]:
    usual: Mapping[str, Any] = {"crush_rule": 0, "size": 3, "min_size": 1}
    return {"pool_name": name, "application_metadata": {}, **usual, **fields}


def _steps(rule: CrushRule) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for take in rule.takes:
        found.append({"op": "take", "item_name": take.bucket})
        found.append({"op": "chooseleaf_firstn", "num": take.number, "type": take.type})
        found.append({"op": "emit"})
    return found
