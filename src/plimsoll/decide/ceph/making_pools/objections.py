"""Why pools cannot be made as they are wanted: sentences that name the remedy."""

import re

from plimsoll.decide.ceph.making_pools.crush_report import CrushDomain, CrushReport
from plimsoll.decide.ceph.making_pools.crush_rules import Take, is_led_by
from plimsoll.decide.ceph.making_pools.requested import PoolsRequest, WantedPool, wanted_pools

ONE_COPY = 1
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""Of pools and rules: CRUSH takes no others in its text."""


def find_objection(request: PoolsRequest, report: CrushReport) -> str:
    for name in (f"{request.prefix}x", request.journal or "x"):
        if not NAME.fullmatch(name):
            return f"{name!r} is no name for a pool; use letters, digits, '-', '_' and '.'"
    if request.file_system and request.file_system not in report.file_systems:
        known = ", ".join(report.file_systems) or "none"
        return f"there is no file system {request.file_system}; Ceph has {known}"
    for name in (request.domain_type, request.leaf):
        if name not in report.types:
            return f"CRUSH has no bucket type {name}; it has {', '.join(report.types)}"
    if not report.has_bucket(request.root):
        return f"CRUSH has no bucket {request.root}; name the root of the domains with --root"
    if request.size == ONE_COPY and not request.allows_single_copy:
        return (
            "a pool with one copy is lost with its domain and cannot be taken over; use --size=3,"
            " or --allow-single-copy if that is wanted"
        )
    if request.size > ONE_COPY and request.size - 1 < request.min_size:
        return (
            f"a pool of {request.size} copies of which {request.min_size} must be up stops with"
            " its domain; raise --size or lower --min-size"
        )
    return ""


def find_shortage(request: PoolsRequest, domains: tuple[CrushDomain, ...]) -> str:
    names = {domain.name for domain in domains}
    if not domains:
        return f"there is no {request.domain_type} below {request.root} in CRUSH"
    if unknown := sorted(request.domains.keys() - names):
        known = ", ".join(sorted(names))
        return (
            f"there is no {request.domain_type} {unknown[0]} below {request.root}; known: {known}"
        )
    if len(domains) == 1 and request.size > ONE_COPY:
        return f"there is one {request.domain_type} only: no copy can be outside it"
    leaves = {domain.name: domain.leaves for domain in domains}
    for pool in wanted_pools(request, domains):
        for take in pool.takes:
            if take.bucket in leaves and leaves[take.bucket] < take.number:
                return (
                    f"pool {pool.name} needs {take.number} of type {take.type} with OSDs in"
                    f" {take.bucket}, which has {leaves[take.bucket]}; add OSDs, or lower --size"
                )
    return ""


def find_stranger(pool: WantedPool, request: PoolsRequest, report: CrushReport) -> str:
    """Why a rule or pool of the wanted name is not one of ours."""
    takes = report.rule(pool.rule)
    if takes is not None and not _is_ours(pool, takes):
        return f"CRUSH rule {pool.rule} exists and is another one; choose another --prefix"
    existing = report.pool(pool.name)
    if existing is not None and existing.rule != pool.rule:
        return (
            f"pool {pool.name} exists, with rule {existing.rule}, and was not made by this"
            " command; choose another --prefix or --journal"
        )
    if existing is not None and existing.size != request.size:
        return (
            f"pool {pool.name} has {existing.size} copies, not {request.size}, and its rule is made"
            f" for them; say --size={existing.size}, or choose another --prefix"
        )
    return ""


def _is_ours(pool: WantedPool, takes: tuple[Take, ...]) -> bool:
    """Domains that came since it was made do not make it another one."""
    return is_led_by(takes, pool.domain) if pool.domain else bool(takes)
