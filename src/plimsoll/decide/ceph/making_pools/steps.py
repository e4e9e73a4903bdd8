"""What is to be done so that each domain has a pool near it, and all have the journal.

Deciding again after the steps were carried out gives none, and after some of them the rest. A rule
or a pool that this command did not make is never changed: one of the same name is a reason to
refuse. What tells that a pool was made here is its rule, which is named after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool
from plimsoll.decide.ceph.making_pools.crush_report import CrushReport, ExistingPool
from plimsoll.decide.ceph.making_pools.crush_rules import CrushRule
from plimsoll.decide.ceph.making_pools.objections import (
    ONE_COPY,
    find_objection,
    find_shortage,
    find_stranger,
)
from plimsoll.decide.ceph.making_pools.requested import (
    PoolsRequest,
    WantedPool,
    as_class,
    wanted_pools,
)


@dataclass(frozen=True, slots=True)
class AddRules:
    """All at once: the map has one version."""

    rules: tuple[CrushRule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePool:
    pool: str
    rule: str
    size: int
    pg_num: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMinSize:
    pool: str
    min_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EnableApplication:
    pool: str
    application: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddDataPool:
    pool: str
    file_system: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPool:
    pool: str
    application: str
    key: str
    value: str


PoolStep = AddRules | CreatePool | SetMinSize | EnableApplication | AddDataPool | LabelPool


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolsPlan:
    steps: tuple[PoolStep, ...]
    pools: tuple[ConstrainedPool, ...]
    """As a class names them."""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PoolsRefused:
    """Nothing is done; the sentence names the remedy."""

    reason: str


def decide_pools(request: PoolsRequest, report: CrushReport) -> PoolsPlan | PoolsRefused:
    if reason := find_objection(request, report):
        return PoolsRefused(reason)
    domains = report.domains(request.root, domain_type=request.domain_type, leaf=request.leaf)
    if reason := find_shortage(request, domains):
        return PoolsRefused(reason)
    wanted = list(wanted_pools(request, domains))
    for pool in wanted:
        if reason := find_stranger(pool, request, report):
            return PoolsRefused(reason)
    return PoolsPlan(
        steps=tuple(_steps(wanted, request, report)),
        pools=tuple(as_class(pool, request) for pool in wanted if pool.domain),
        remarks=_remarks(request),
    )


def described(step: PoolStep) -> str:
    """What a step does, for people."""
    match step:
        case AddRules(rules):
            return f"add CRUSH rules {', '.join(rule.name for rule in rules)}"
        case CreatePool(pool=pool, rule=rule, size=size, pg_num=pg_num):
            return f"create pool {pool} with rule {rule}, {size} copies, {pg_num} placement groups"
        case SetMinSize(pool=pool, min_size=min_size):
            return f"let pool {pool} be written to while {min_size} copies are up"
        case EnableApplication(pool=pool, application=application):
            return f"enable application {application} on pool {pool}"
        case AddDataPool(pool=pool, file_system=file_system):
            return f"add pool {pool} to file system {file_system}"
        case LabelPool(pool=pool, key=key, value=value):
            return f"label pool {pool}: {key}={value}"
        case _:
            assert_never(step)


def _steps(
    wanted: list[WantedPool], request: PoolsRequest, report: CrushReport
) -> Iterator[PoolStep]:
    missing = [pool for pool in wanted if report.rule(pool.rule) is None]
    if missing:
        yield AddRules(tuple(CrushRule(name=pool.rule, takes=pool.takes) for pool in missing))
    for pool in wanted:
        yield from _steps_of(pool, request, report.pool(pool.name))
        if request.file_system and pool.name not in report.pools_of(request.file_system):
            yield AddDataPool(pool=pool.name, file_system=request.file_system)
        yield from _labels(pool, request, report.pool(pool.name))


def _steps_of(
    pool: WantedPool, request: PoolsRequest, existing: ExistingPool | None
) -> Iterator[PoolStep]:
    if existing is None:
        yield CreatePool(pool=pool.name, rule=pool.rule, size=request.size, pg_num=request.pg_num)
    min_size = min(request.min_size, request.size)
    if existing is None or existing.min_size != min_size:
        yield SetMinSize(pool=pool.name, min_size=min_size)
    applications = {} if existing is None else existing.applications
    if request.application not in applications:
        yield EnableApplication(pool=pool.name, application=request.application)


def _labels(
    pool: WantedPool, request: PoolsRequest, existing: ExistingPool | None
) -> Iterator[LabelPool]:
    applications = {} if existing is None else existing.applications
    labels = applications.get(request.application, {})
    for key, value in pool.labels.items():
        if labels.get(key) != value:
            yield LabelPool(pool=pool.name, application=request.application, key=key, value=value)


def _remarks(request: PoolsRequest) -> tuple[str, ...]:
    if request.size > ONE_COPY:
        return ()
    told = "pools with one copy stop with their domain, lose what a broken disk had, and cannot"
    return (f"{told} be taken over",)
