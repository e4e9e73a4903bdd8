"""What the demo tells when it fails."""

from typing import cast

import pytest

from plimsoll.api.core import Event
from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import a_cluster
from plimsoll.ui.demo.objects import NAMESPACE, namespace
from plimsoll.ui.demo.stage import DemoStage
from plimsoll.ui.local_cluster.running import LocalCluster
from plimsoll.wire.kind import typed

pytestmark = pytest.mark.virtual_time


def an_event(name: str, type_: str, reason: str, message: str) -> Document:
    regarding = {"kind": "Pod", "namespace": NAMESPACE, "name": "db-0"}
    return {
        "metadata": {"namespace": NAMESPACE, "name": name},
        "involvedObject": regarding,
        "type": type_,
        "reason": reason,
        "message": message,
    }


async def test_warnings_of_its_namespace_are_told_with_their_objects() -> None:
    async with a_cluster() as cluster:
        client = cluster.client
        await cluster.create(namespace())
        await client.create(typed(Event), an_event("a", "Normal", "Scheduled", "to node-0"))
        await client.create(typed(Event), an_event("b", "Warning", "FailedMount", "no losetup"))
        stage = DemoStage(cast("LocalCluster", None), client)
        assert await stage.warnings() == ["Pod db-0: FailedMount: no losetup"]
