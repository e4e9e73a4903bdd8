"""Asks the driver which pools are behind the capacity of a segment, where it can tell.

ListPools is Plimsoll's own, beside CSI: most drivers do not have it. The first that says so is not
asked again; a driver that is replaced ends the connection, and with it this process.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence

from plimsoll.decide.capacity.pools import ListedPool, check_pool, pools_text, reaching
from plimsoll.decide.capacity.published import Pair
from plimsoll.decide.capacity.publishing import CapacityQuestion
from plimsoll.decide.capacity.volume_sizes import Cost
from plimsoll.processes.provisioner.link import DriverLink
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2

log = logging.getLogger(__name__)

Listed = Mapping[str, tuple[ListedPool, ...]]
"""By class; a class that is missing has none."""
NOTHING: Listed = {}


class PoolQueries:
    def __init__(self, link: DriverLink) -> None:
        self._link = link
        self._is_offered = True
        self._complained: set[str] = set()

    async def list(self, pairs: Sequence[Pair], question: CapacityQuestion) -> Listed:
        """The pools of these pairs, which are of one segment and have the same parameters. Raises
        DriverError if the driver has the call and gives no answer: numbers are not to be published
        beside pools of another time."""
        if not self._is_offered:
            return NOTHING
        classes = [
            pools_pb2.StorageClass(name=pair.storage_class, parameters=question.parameters)
            for pair in pairs
        ]
        request = pools_pb2.ListPoolsRequest(
            classes=classes, accessible_topology=csi.Topology(segments=question.topology)
        )
        try:
            answer = await self._link.call(methods.LIST_POOLS, request)
        except DriverError as error:
            if error.failure is not DriverFailure.UNSUPPORTED:
                raise
            self._is_offered = False
            return NOTHING
        return self._read(answer, question.topology)

    def _read(self, answer: pools_pb2.ListPoolsResponse, segment: Mapping[str, str]) -> Listed:
        found: dict[str, list[ListedPool]] = {}
        for pool in answer.pools:
            for cost in pool.costs:
                found.setdefault(cost.class_name, []).append(_listed(pool, cost))
        listed = {name: tuple(reaching(segment, pools)) for name, pools in found.items()}
        return {name: pools for name, pools in listed.items() if self._is_usable(name, pools)}

    def _is_usable(self, storage_class: str, pools: Iterable[ListedPool]) -> bool:
        problem = _problem([*pools])
        if problem and storage_class not in self._complained:
            self._complained.add(storage_class)
            log.warning("pools not published", extra={"class": storage_class, "error": problem})
        return not problem


def _problem(pools: Sequence[ListedPool]) -> str:
    """Why these pools cannot be published; empty: they can."""
    try:
        for pool in pools:
            check_pool(pool)
    except ValueError as error:
        return str(error)
    if len({pool.name for pool in pools}) < len(pools):
        return "two pools have the same name"
    return "" if pools_text(pools) is not None else "there are too many to be written on an object"


def _listed(pool: pools_pb2.Pool, cost: pools_pb2.Cost) -> ListedPool:
    return ListedPool(
        name=pool.name,
        free={extent.name: extent.free_bytes for extent in pool.free_extents},
        cost=Cost(
            copies=cost.copies,
            shares=cost.shares,
            unit_bytes=cost.unit_bytes,
            overhead_bytes=cost.overhead_bytes,
            minimum_bytes=cost.minimum_volume_size,
        ),
        topology=tuple(dict(each.segments) for each in pool.accessible_topology),
    )
