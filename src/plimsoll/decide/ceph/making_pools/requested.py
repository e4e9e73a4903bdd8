"""Which pools are wanted: one near each domain, and the journal."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, DomainSegment
from plimsoll.decide.ceph.labelled_pools import DOMAIN, GROUP
from plimsoll.decide.ceph.making_pools.crush_report import CrushDomain
from plimsoll.decide.ceph.making_pools.crush_rules import Take, domain_takes, journal_takes

RULE_PREFIX = "plimsoll-"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolsRequest:
    domain_type: str = "zone"
    """The type of bucket that a domain is in CRUSH."""
    root: str = "default"
    domains: Mapping[str, str] = field(default_factory=dict)
    """What nodes call each domain, by the name of its bucket; empty: all, under their own names."""
    label: str = ""
    """The short name of the label of nodes; empty: the type of the bucket."""
    prefix: str = "rbd-"
    journal: str = "journal"
    """Empty: no journal pool is made. A file system has its own in its metadata pool."""
    size: int = 3
    min_size: int = 2
    pg_num: int = 32
    leaf: str = "host"
    file_system: str = ""
    """The pools become data pools of it; empty: they are for images."""
    group: str = ""
    allows_single_copy: bool = False

    @property
    def application(self) -> str:
        return "cephfs" if self.file_system else "rbd"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPool:
    name: str
    takes: tuple[Take, ...]
    labels: Mapping[str, str]
    domain: str = ""
    """Where its primaries are; empty: wherever."""

    @property
    def rule(self) -> str:
        return f"{RULE_PREFIX}{self.name}"


def wanted_pools(request: PoolsRequest, domains: tuple[CrushDomain, ...]) -> Iterator[WantedPool]:
    names = [domain.name for domain in domains]
    label = request.label or request.domain_type
    for name in names:
        if request.domains and name not in request.domains:
            continue
        value = request.domains.get(name) or name
        labels = {f"{DOMAIN}{label}": value} | ({GROUP: request.group} if request.group else {})
        takes = domain_takes(name, names, copies=request.size, leaf=request.leaf)
        yield WantedPool(name=f"{request.prefix}{name}", takes=takes, labels=labels, domain=name)
    if request.journal:
        takes = journal_takes(
            names,
            root=request.root,
            domain_type=request.domain_type,
            copies=request.size,
            leaf=request.leaf,
        )
        yield WantedPool(name=request.journal, takes=takes, labels={})


def as_class(pool: WantedPool, request: PoolsRequest) -> ConstrainedPool:
    label = request.label or request.domain_type
    segment = DomainSegment(label, pool.labels[f"{DOMAIN}{label}"])
    return ConstrainedPool(name=pool.name, segments=(segment,))
