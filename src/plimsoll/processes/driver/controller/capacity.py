"""GetCapacity and ListPools: how much capacity is free, and which pools hold it.

The answer is true at that moment: a volume of the maximum size can then be created, and one that is
larger by a unit cannot.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from google.protobuf.wrappers_pb2 import Int64Value

from plimsoll.processes.driver.backends.protocol import BackendRequest, Pool, VolumeLayout
from plimsoll.processes.driver.controller.answers import topologies
from plimsoll.processes.driver.controller.placement import (
    TopologyRequirement,
    free_capacity,
    is_reachable,
    promised_extents,
)
from plimsoll.processes.driver.controller.requests import (
    parse_capability,
    parse_parameters,
    segment_of,
    unsupported,
)
from plimsoll.processes.driver.core import Driver
from plimsoll.wire.csi.errors import FAILURE_BY_CODE, CsiStatusError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2


class CapacityService:
    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def get_capacity(self, request: csi.GetCapacityRequest) -> csi.GetCapacityResponse:
        capabilities = [parse_capability(item) for item in request.volume_capabilities]
        features = self._driver.backend.features
        if any(unsupported(item, features) for item in capabilities):
            return csi.GetCapacityResponse(available_capacity=0)
        backend_request = BackendRequest(
            parameters=parse_parameters(request.parameters),
            mutable_parameters={},
            mode=capabilities[0].mode if capabilities else None,
            fs_type=next((item.fs_type for item in capabilities if item.fs_type), ""),
        )
        try:
            self._driver.backend.layout(backend_request)
        except CsiStatusError as refusal:
            if FAILURE_BY_CODE.get(refusal.code) is not DriverFailure.OUT_OF_CAPACITY:
                raise
            # Possible elsewhere, but not here, whatever its size; CreateVolume says why.
            return csi.GetCapacityResponse(available_capacity=0)
        requirement = TopologyRequirement(served=self._driver.served)
        if request.HasField("accessible_topology"):
            requirement = TopologyRequirement(requisite=(segment_of(request.accessible_topology),))
        async with self._driver.placing:
            pools = await self._driver.pools()
        # Which pools a class has may be known only now, where the storage tells it.
        layout = self._driver.backend.layout(backend_request)
        free = free_capacity(pools, layout, requirement)
        return csi.GetCapacityResponse(
            available_capacity=free.total_bytes,
            maximum_volume_size=Int64Value(value=free.largest_bytes),
            minimum_volume_size=Int64Value(value=layout.smallest_bytes),
        )

    async def list_pools(self, request: pools_pb2.ListPoolsRequest) -> pools_pb2.ListPoolsResponse:
        async with self._driver.placing:
            found = await self._driver.pools()
        layouts = {
            item.name: layout
            for item in request.classes
            if (layout := self._find_layout(item.parameters)) is not None
        }
        pools = [_located(pool, layouts) for pool in found]
        if request.HasField("accessible_topology"):
            segment = segment_of(request.accessible_topology)
            pools = [pool for pool in pools if is_reachable(pool.topology, segment)]
        return pools_pb2.ListPoolsResponse(pools=[_pool(pool, layouts) for pool in pools])

    def _find_layout(self, parameters: Mapping[str, str]) -> VolumeLayout | None:
        """A class that this driver refuses has no costs; CreateVolume says why."""
        backend_request = BackendRequest(
            parameters=parse_parameters(parameters), mutable_parameters={}, mode=None, fs_type=""
        )
        try:
            return self._driver.backend.layout(backend_request)
        except CsiStatusError:
            return None


def _located(pool: Pool, layouts: dict[str, VolumeLayout]) -> Pool:
    """Where the classes say that it is, each segment once."""
    segments = [
        segment
        for _, layout in sorted(layouts.items())
        for name in _stored_here(pool, layout)
        for segment in layout.located.get(name, ())
    ]
    named = tuple(each for at, each in enumerate(segments) if each not in segments[:at])
    return replace(pool, topology=named) if named else pool


def _stored_here(pool: Pool, layout: VolumeLayout) -> Sequence[str]:
    """The pools of the class whose volumes have their bytes here: itself, unless it has them
    elsewhere."""
    own = () if pool.name in layout.stored_in else (pool.name,)
    others = sorted(name for name, data in layout.stored_in.items() if data == pool.name)
    return [name for name in (*own, *others) if layout.pools is None or name in layout.pools]


def _pool(pool: Pool, layouts: dict[str, VolumeLayout]) -> pools_pb2.Pool:
    using = {name: layout for name, layout in layouts.items() if _stored_here(pool, layout)}
    free = _free(pool, using.values())
    return pools_pb2.Pool(
        name=pool.name,
        accessible_topology=topologies(pool.topology),
        total_bytes=sum(extent.total_bytes for extent in pool.extents),
        free_extents=[
            pools_pb2.Extent(name=extent.name, free_bytes=max(0, free[extent.name]))
            for extent in pool.extents
        ],
        costs=_costs(using),
    )


def _free(pool: Pool, layouts: Iterable[VolumeLayout]) -> Mapping[str, int]:
    """By extent, what each of the classes may promise: the least of it. Volumes of several classes
    that fit into this fit in whatever order they are asked for; of more, a class that promises less
    might be refused after the others."""
    seen = [promised_extents(pool, layout) for layout in layouts] or [pool.extents]
    return {
        each[0].name: min(extent.free_bytes for extent in each) for each in zip(*seen, strict=True)
    }


def _costs(layouts: Mapping[str, VolumeLayout]) -> Sequence[pools_pb2.Cost]:
    return [
        pools_pb2.Cost(
            class_name=name,
            copies=layout.copies,
            shares=layout.shares,
            unit_bytes=layout.unit_bytes,
            overhead_bytes=layout.overhead_bytes,
            minimum_volume_size=layout.smallest_bytes,
        )
        for name, layout in sorted(layouts.items())
    ]
