import asyncio
from typing import cast

import pytest

from plimsoll.processes.driver.backends.ceph.clusters.member_clusters import (
    MemberCluster,
    MemberClusters,
)
from plimsoll.processes.driver.backends.ceph.journaled_backend import JournaledBackend
from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.refusals import unavailable


def member(name: str) -> MemberCluster:
    return MemberCluster(name=name, prefix=name, backend=cast("JournaledBackend", None))


async def test_a_call_to_every_cluster_ends_when_none_is_at_work_any_more() -> None:
    """Also if one of them fails at once."""
    ended: list[str] = []

    async def ask(asked: MemberCluster) -> None:
        if asked.name == "east":
            raise unavailable("east does not answer")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        ended.append(asked.name)

    members = MemberClusters([member("east"), member("west")], SteppedClock())
    with pytest.raises(CsiStatusError, match="east does not answer"):
        await members.ask_every(ask)
    assert ended == ["west"]
