"""Requests and environment for tests of provisioners."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from plimsoll.api.core import Node
from plimsoll.api.storage import StorageClass
from plimsoll.processes.controller.in_process.provisioners.protocol import ProvisionRequest
from plimsoll.processes.controller.in_process.provisioners.zones import REGION, ZONE
from tests.builders import a_claim, a_node

T = TypeVar("T")


async def at_once(function: Callable[[], T], /) -> T:
    return function()


def a_zonal_node(zone: str) -> Node:
    return a_node(f"node-{zone}", labels={ZONE: zone, REGION: zone.rpartition("-")[0]})


def a_class_with(
    parameters: Mapping[str, str] | None = None, *, zones: tuple[str, ...] = ()
) -> StorageClass:
    """`zones` are its allowed topologies."""
    expressions = [{"key": ZONE, "values": list(zones)}]
    allowed = [{"matchLabelExpressions": expressions}] if zones else []
    return msgspec.convert(
        {
            "metadata": {"name": "fast"},
            "parameters": dict(parameters or {}),
            "allowedTopologies": allowed,
        },
        StorageClass,
    )


def a_request(
    storage_class: StorageClass | None = None,
    *,
    claim: str = "data",
    node: Node | None = None,
    nodes: tuple[Node, ...] = (),
) -> ProvisionRequest:
    return ProvisionRequest(
        volume_name="pvc-1",
        claim=a_claim(claim),
        storage_class=storage_class or a_class_with(),
        selected_node=node,
        nodes=lambda: nodes,
    )
