from collections.abc import Mapping, Sequence
from typing import cast

import pytest
from grpc import StatusCode

from plimsoll.decide.ceph.journal.places import CephJournal
from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster
from plimsoll.processes.driver.backends.ceph.domains.cluster_fences import ClusterFences
from plimsoll.processes.driver.backends.ceph.records.cluster_records import ClusterRecords
from plimsoll.wire.csi.errors import CsiStatusError


class NoRecords:
    """Of a cluster without a journal that answers."""

    @property
    def volumes(self) -> "NoRecords":
        return self

    async def journals(self) -> Sequence[CephJournal]:
        return ()


async def no_pools() -> Sequence[str]:
    return ()


async def no_down_pools() -> Sequence[int]:
    return ()


async def end_none(journals: Sequence[CephJournal], domain: Mapping[str, str]) -> None:
    pass


async def test_where_no_journal_can_be_written_to_a_domain_is_not_fenced() -> None:
    fences = ClusterFences(
        cast("CephCluster", None),
        cast("ClusterRecords", NoRecords()),
        no_pools,
        find_down=no_down_pools,
        end_writers=end_none,
    )
    with pytest.raises(CsiStatusError, match="no journal can be written to") as refused:
        await fences.fence({"zone": "a"}, None)
    assert refused.value.code is StatusCode.UNAVAILABLE
    assert not await fences.is_fenced({"zone": "a"})
