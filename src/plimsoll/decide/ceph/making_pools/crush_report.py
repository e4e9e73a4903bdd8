"""What monitors tell of CRUSH and of pools, as far as making pools depends on it.

Copies of buckets that CRUSH keeps for each class of device (`zone-a~ssd`) are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.decide.ceph.making_pools.crush_rules import Take

SHADOW = "~"
CHOOSE_LEAF = "chooseleaf_firstn"

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrushDomain:
    name: str
    leaves: int
    """Buckets in which a copy can be, each with an OSD in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingPool:
    name: str
    rule: str
    size: int
    min_size: int
    applications: Mapping[str, Mapping[str, str]]


class CrushReport:
    def __init__(
        self, crush: Document, pools: Sequence[Document], file_systems: Sequence[Document] = ()
    ) -> None:
        """The answers to `osd crush dump`, `osd pool ls detail` and `fs ls`."""
        buckets = [each for each in crush["buckets"] if SHADOW not in each["name"]]
        self._by_id: dict[int, Document] = {each["id"]: each for each in buckets}
        self._by_name: dict[str, Document] = {each["name"]: each for each in buckets}
        self._rules: dict[str, Document] = {each["rule_name"]: each for each in crush["rules"]}
        self._pools = pools
        self._file_systems: dict[str, Document] = {each["name"]: each for each in file_systems}
        self.types: tuple[str, ...] = tuple(each["name"] for each in crush["types"])

    @property
    def first_free_id(self) -> int:
        return max((rule["rule_id"] for rule in self._rules.values()), default=-1) + 1

    def has_bucket(self, name: str) -> bool:
        return name in self._by_name

    def domains(self, root: str, *, domain_type: str, leaf: str) -> tuple[CrushDomain, ...]:
        """By name: all of the type below the root."""
        found = [each for each in self._below(root) if each["type_name"] == domain_type]
        return tuple(
            CrushDomain(name=each["name"], leaves=self._leaves(each["name"], leaf))
            for each in sorted(found, key=lambda bucket: str(bucket["name"]))
        )

    def _leaves(self, bucket: str, leaf: str) -> int:
        below = list(self._below(bucket))
        if leaf not in {each["type_name"] for each in below}:
            return sum(_devices(each) for each in below)
        return sum(
            any(_devices(inner) for inner in self._below(each["name"]))
            for each in below
            if each["type_name"] == leaf
        )

    def _below(self, name: str) -> Iterator[Document]:
        """The bucket itself, and all that are in it."""
        left = [self._by_name[name]]
        while left:
            bucket = left.pop()
            yield bucket
            left += (self._by_id[i["id"]] for i in bucket["items"] if i["id"] in self._by_id)

    def rule(self, name: str) -> tuple[Take, ...] | None:
        """Empty: one that is made in another way; None: there is none."""
        found = self._rules.get(name)
        if found is None:
            return None
        steps = list(found["steps"])
        parts = [steps[at : at + 3] for at in range(0, len(steps), 3)]
        takes = [_take(part) for part in parts]
        return tuple(take for take in takes if take) if all(takes) else ()

    @property
    def file_systems(self) -> tuple[str, ...]:
        return tuple(sorted(self._file_systems))

    def pools_of(self, file_system: str) -> frozenset[str]:
        """The names of its data pools; none if there is no such file system."""
        return frozenset(self._file_systems.get(file_system, {}).get("data_pools", ()))

    def pool(self, name: str) -> ExistingPool | None:
        rules = {rule["rule_id"]: rule_name for rule_name, rule in self._rules.items()}
        for each in self._pools:
            if each["pool_name"] == name:
                return ExistingPool(
                    name=name,
                    rule=rules.get(each["crush_rule"], ""),
                    size=each["size"],
                    min_size=each["min_size"],
                    applications=each.get("application_metadata") or {},
                )
        return None


def _devices(bucket: Document) -> int:
    return sum(item["id"] >= 0 for item in bucket["items"])


def _take(steps: Sequence[Document]) -> Take | None:
    """Of three steps: take, choose, emit."""
    match [step["op"] for step in steps]:
        case ["take", chosen, "emit"] if chosen == CHOOSE_LEAF:
            take, choose, _ = steps
            return Take(bucket=take["item_name"], number=choose["num"], type=choose["type"])
        case _:
            return None
