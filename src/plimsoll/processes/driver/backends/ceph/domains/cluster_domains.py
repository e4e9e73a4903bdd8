"""Domains of a cluster, by its CRUSH tree: which pools have copies there, and whether it is up.

A domain is the bucket whose type and name are the narrowest of its labels: `zone=b` is the bucket
`b` of type `zone`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from plimsoll.decide.ceph.crush_copies import CrushTree, copies_inside, parse_tree
from plimsoll.decide.ceph.journal.layout import JournalKind, JournalLayout
from plimsoll.decide.ceph.label_names import short_name
from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.processes.driver.backends.ceph.ceph_cluster import failures_of
from plimsoll.processes.driver.backends.ceph.cluster_report import APPLICATION, ClusterReport
from plimsoll.processes.driver.domains.protocol import DomainCondition
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.objects import RadosObjects


async def read_report(connection: CephConnection) -> ClusterReport:
    """Raises CephError."""
    ask = connection.command
    df, pools, tree, rules, applications = await asyncio.gather(
        ask("df", detail="detail"),
        ask("osd pool ls", detail="detail"),
        ask("osd tree"),
        ask("osd crush rule dump"),
        ask("osd pool application get"),
    )
    return ClusterReport(df=df, pools=pools, tree=tree, rules=rules, applications=applications)


OnlyPools = Callable[[], Awaitable[Collection[str]]]
"""The names of those that volumes of this driver can be in. Raises CephError."""


class ClusterDomains:
    def __init__(
        self,
        connection: CephConnection,
        levels: Sequence[str],
        *,
        application: str = APPLICATION,
        only_pools: OnlyPools | None = None,
    ) -> None:
        """`levels` are types of buckets, from wide to narrow."""
        self._connection = connection
        self._levels = levels
        self._application = application
        self._only_pools = only_pools

    async def pool_copies(self, domain: Mapping[str, str]) -> Sequence[PoolCopies]:
        """Raises CsiStatusError."""
        report, bucket = await self._look_at(domain)
        if bucket is None:
            return ()
        copies = copies_in(report, bucket, self._application)
        if self._only_pools is None:
            return copies
        with failures_of("the cluster"):
            own = await self._only_pools()
        return [each for each in copies if each.pool in own]

    async def storage_condition(self, domain: Mapping[str, str]) -> DomainCondition:
        """Raises CsiStatusError."""
        report, bucket = await self._look_at(domain)
        return condition_of(report, bucket)

    async def _look_at(self, domain: Mapping[str, str]) -> tuple[ClusterReport, int | None]:
        with failures_of("the cluster"):
            report = await read_report(self._connection)
        return report, bucket_of(parse_tree(report.tree), domain, self._levels)

    async def find_journals(self) -> Sequence[str]:
        """In every pool for images there may be one, also of a class that is not known here. One in
        a pool that is down, as those that were lost with a domain, lets no node write: a lease
        could not be taken there. Raises CephError."""
        pools = (await read_report(self._connection)).writable_pools()
        found = await asyncio.gather(*map(self._has_journal, pools))
        return [pool for pool, has_one in zip(pools, found, strict=True) if has_one]

    async def find_down(self) -> frozenset[int]:
        """The ids of pools that no data can be written to. Raises CephError."""
        return (await read_report(self._connection)).down_pools()

    async def _has_journal(self, pool: str) -> bool:
        directory = JournalLayout(kind=JournalKind.VOLUME).directory(pool).name
        return await RadosObjects(self._connection, PoolScope(pool=pool)).exists(directory)


def bucket_of(tree: CrushTree, domain: Mapping[str, str], levels: Sequence[str]) -> int | None:
    """None: the tree has none of that type and name."""
    by_level = {short_name(key): value for key, value in domain.items()}
    named = [level for level in levels if level in by_level]
    return tree.find(named[-1], by_level[named[-1]]) if named else None


def copies_in(
    report: ClusterReport, bucket: int, application: str = APPLICATION
) -> Sequence[PoolCopies]:
    """Of the pools that have data there, by name."""
    tree = parse_tree(report.tree)
    found = [_copies(report, tree, pool, bucket) for pool in report.used_pools(application)]
    return sorted((each for each in found if each.inside), key=lambda each: each.pool)


def _copies(
    report: ClusterReport, tree: CrushTree, pool: Mapping[str, Any], bucket: int
) -> PoolCopies:
    size = int(pool["size"])
    return PoolCopies(
        pool=pool["pool_name"],
        size=size,
        min_size=int(pool["min_size"]),
        inside=copies_inside(tree, report.steps_of(pool), size, bucket),
    )


def condition_of(report: ClusterReport, bucket: int | None) -> DomainCondition:
    if bucket is None:
        return DomainCondition.UNKNOWN
    is_up = parse_tree(report.tree).is_up(bucket)
    return DomainCondition.UP if is_up else DomainCondition.DOWN
