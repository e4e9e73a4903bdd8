"""Who owns capacity objects: so many controllers up from our pod."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from plimsoll.processes.provisioner.capacity.owner import find_owner
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.runtime.config import ConfigError
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import pod
from plimsoll.wire.errors import KubeError

pytestmark = pytest.mark.virtual_time

CONTAINERS = [{"name": "main", "image": "driver:1"}]


async def owned_by(cluster: StoryCluster, kind: str, name: str) -> dict[str, Any]:
    found = (await cluster.get(kind, name))["metadata"]["uid"]
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": found}
    return {"ownerReferences": [reference | {"controller": True}]}


def apps(kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    labels = {"app": "driver"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": CONTAINERS}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"} | metadata,
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


@pytest.fixture
async def cluster() -> AsyncIterator[StoryCluster]:
    """A deployment, its replica set, and that one's pod."""
    async with a_cluster() as cluster:
        await cluster.create(apps("Deployment", "driver"))
        above = await owned_by(cluster, "Deployment", "driver")
        await cluster.create(apps("ReplicaSet", "driver-1", **above))
        above = await owned_by(cluster, "ReplicaSet", "driver-1")
        await cluster.create(pod("driver-1-x", **above), pod("alone"))
        yield cluster


def settings(level: int, name: str = "driver-1-x") -> ProvisionerFlags:
    return msgspec.structs.replace(
        ProvisionerFlags(), namespace="default", pod_name=name, capacity_ownerref_level=level
    )


@pytest.mark.parametrize(
    ("level", "kind", "name"),
    [
        (0, "Pod", "driver-1-x"),
        (1, "ReplicaSet", "driver-1"),
        (2, "Deployment", "driver"),
    ],
)
async def test_each_level_is_one_controller_further_up(
    cluster: StoryCluster, level: int, kind: str, name: str
) -> None:
    owner = await find_owner(settings(level), cluster.client)
    assert owner is not None
    assert (owner.kind, owner.name, owner.controller) == (kind, name, True)
    assert owner.uid == (await cluster.get(kind, name))["metadata"]["uid"]


async def test_they_need_no_owner(cluster: StoryCluster) -> None:
    assert await find_owner(settings(-1), cluster.client) is None


async def test_a_level_that_is_too_high_is_refused(cluster: StoryCluster) -> None:
    with pytest.raises(ConfigError, match="Pod default/alone has no controller"):
        await find_owner(settings(1, "alone"), cluster.client)
    with pytest.raises(ConfigError, match="Deployment default/driver has no controller"):
        await find_owner(settings(3), cluster.client)


async def test_a_pod_that_does_not_exist_is_an_error(cluster: StoryCluster) -> None:
    with pytest.raises(KubeError):
        await find_owner(settings(1, "nobody"), cluster.client)
