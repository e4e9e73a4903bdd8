"""Labels that say which domains a node serves: its own, and those that it has taken over.

A volume requires the label of its domain, so that a domain can be given to other nodes without a
change of the volume. A domain is known by its domain path, the values from wide to narrow, because
racks of two zones may have the same name.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import permutations

from plimsoll.decide.ceph.domain_labels import topology_prefix

DomainPath = tuple[str, ...]

SERVES = "serves."
SERVED = "true"
"""The value of the labels."""
LONGEST_NAME = 63
DIGEST_DIGITS = 32


def served_prefix(driver: str) -> str:
    """What all these labels of a driver begin with."""
    return f"{topology_prefix(driver)}/{SERVES}"


def served_label(driver: str, path: DomainPath) -> str:
    """A digest stands for a path that would be too long, or that another path could spell.

    It begins with a dot, which the name of a domain cannot.
    """
    name = ".".join(path)
    if not all(path) or any("." in part for part in path) or len(SERVES + name) > LONGEST_NAME:
        digest = sha256(json.dumps(path, ensure_ascii=False).encode()).hexdigest()
        name = f".{digest[:DIGEST_DIGITS]}"
    return served_prefix(driver) + name


def parse_label(driver: str, label: str) -> DomainPath | None:
    """The path that a label spells; None: it is a digest of one."""
    name = label.removeprefix(served_prefix(driver))
    return None if name.startswith(".") else tuple(name.split("."))


def wider_paths(path: DomainPath) -> Iterator[DomainPath]:
    """The path itself last: who is in a rack is in its zone and region too."""
    return (path[:depth] for depth in range(1, len(path) + 1))


def find_path(
    levels: Sequence[str], domains: Mapping[str, str], named: Sequence[str]
) -> DomainPath | None:
    """The path down to the narrowest of the named levels; None: some level has no value."""
    depth = max((place for place, level in enumerate(levels, 1) if level in named), default=0)
    values = tuple(domains.get(level, "") for level in levels[:depth])
    return values if values and all(values) and set(named) <= set(levels) else None


def is_served_segment(segment: Mapping[str, str]) -> bool:
    """Whether it names served domains, of whichever driver, and nothing else."""
    return bool(segment) and all(f"/{SERVES}" in key for key in segment)


def is_home(segment: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Whether the labels by which drivers say where a node is spell each of these domains.

    In which order levels follow each other is not known here, so all orders are tried.
    """
    return all(_spells(key, labels) for key in segment)


def _spells(key: str, labels: Mapping[str, str]) -> bool:
    prefix = key.partition(SERVES)[0]
    homes = [
        value
        for label, value in sorted(labels.items())
        if label.startswith(prefix) and not label.startswith(prefix + SERVES)
    ]
    driver = prefix.removeprefix(topology_prefix("")).removesuffix("/")
    return any(
        served_label(driver, path) == key
        for depth in range(1, len(homes) + 1)
        for path in permutations(homes, depth)
    )
