"""One connection to a Ceph cluster, and how every call on it ends.

Each call runs in a thread of its own, so none holds up the event loop. librados ends operations
after the time that its options say, except where it waits for a newer map of the cluster: it does
that when a pool is opened that it does not know, for as long as no monitor answers. So monitors are
asked first whether there is such a pool, and to open it has the time limit of an operation: a call
that is given up then never begins. librbd opens pools itself, and waits for one operation after the
other: a call for an image is given up when its pool does not answer, or when it stands still and
monitors do not answer, and no other begins for the same image before it has ended. To copy or
remove a large image takes long: such a call has no deadline as long as it makes progress. Pools are
opened so that deletions work in full ones, and writes fail at once instead of waiting for room.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from plimsoll.runtime.deadlines import in_thread_within
from plimsoll.wire.ceph.bindings import load_bindings
from plimsoll.wire.ceph.errors import CephError, CephFailure, ceph_error
from plimsoll.wire.ceph.interfaces import ClusterCalls, OpenPool
from plimsoll.wire.ceph.running_calls import Beginning, Progress, RunningCalls

T = TypeVar("T")

LONGEST = timedelta(days=7)
"""No image is so large that it takes longer to copy."""
GIVEN_UP = "the call was given up"
NOT_OPENED = "it could not be opened: no monitor says whether it still exists"

Ioctx = OpenPool
"""What librados calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CephAccess:
    monitors: str
    """Their addresses, separated by commas, as in `mon_host`."""
    user: str
    """Without `client.`."""
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CephLimits:
    operation: timedelta = timedelta(seconds=5)
    """Of one operation of librados; a call of librbd has several."""
    call: timedelta = timedelta(seconds=60)
    """Of a whole call, should librados itself not keep to its limit; where the call tells its
    progress, from the last one on."""


DEFAULT_LIMITS = CephLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolScope:
    """Where objects and images are."""

    pool: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"pool {self.pool}" + (f", namespace {self.namespace}" if self.namespace else "")


class CephConnection:
    def __init__(self, access: CephAccess, limits: CephLimits = DEFAULT_LIMITS) -> None:
        """Raises NoCephError. Connects with the first call."""
        self.bindings = load_bindings()
        self._access = access
        self._limits = limits
        self._cluster: ClusterCalls | None = None
        self._connecting = asyncio.Lock()
        self._failure: CephError | None = None
        """Of the last attempt to connect that failed."""
        self._failures = 0
        self._pool_ids: dict[str, int] = {}
        self._calls = RunningCalls()

    @property
    def _monitors(self) -> str:
        return f"monitor {self._access.monitors}, asked as client.{self._access.user},"

    async def on_pool(self, scope: PoolScope, function: Callable[[Ioctx], T]) -> T:
        """What the function returns for the open pool. Raises CephError."""
        return await self.on_pools((scope,), lambda opened: function(opened[0]))

    async def on_pools(
        self, scopes: Sequence[PoolScope], function: Callable[[Sequence[Ioctx]], T]
    ) -> T:
        """The same for several pools at once; errors speak of the last one."""
        cluster = await self._checked(scopes)
        return await self._on_opened(cluster, scopes, function, within=self._limits.call)

    async def on_image(
        self,
        scopes: Sequence[PoolScope],
        image: str,
        function: Callable[[Sequence[Ioctx]], T],
        *,
        progress: Progress | None = None,
    ) -> T:
        """The same for an image in the last pool; given up when a pool does not answer, or when it
        stands still and no monitor answers."""
        where = str(scopes[-1])
        name = f"{where}, image {image}"
        if self._calls.is_given_up(name):
            detail = f"an earlier call for image {image} has not ended yet"
            raise CephError(CephFailure.TIMED_OUT, where, detail)
        cluster = await self._checked(scopes)
        call = self._on_opened(cluster, scopes, function, name, within=LONGEST)
        running = asyncio.ensure_future(call)
        running.add_done_callback(_retrieve)
        pause, idle = self._limits.operation / 2, timedelta()
        try:
            while True:
                await asyncio.wait((running,), timeout=pause.total_seconds())
                if running.done():
                    return running.result()
                idle = timedelta() if progress and progress.has_gone_on() else idle + pause
                if idle >= self._limits.call:
                    raise CephError(CephFailure.TIMED_OUT, where, GIVEN_UP)
                await _unless_done(running, self._probe(scopes, ask_monitors=bool(idle)))
        finally:
            if not running.done():
                running.cancel()
                self._calls.give_up(name)

    async def _probe(self, scopes: Sequence[PoolScope], *, ask_monitors: bool) -> None:
        """Raises CephError."""
        if ask_monitors:
            await self.pool_ids()
        for scope in scopes:
            await self.reach_storage(scope.pool, 1)

    async def _on_opened(
        self,
        cluster: ClusterCalls,
        scopes: Sequence[PoolScope],
        function: Callable[[Sequence[Ioctx]], T],
        name: str = "",
        *,
        within: timedelta,
    ) -> T:
        where, beginning = str(scopes[-1]), Beginning()

        def call() -> T:
            with ExitStack() as stack:
                pools = [stack.enter_context(_opened(cluster, item)) for item in scopes]
                if not beginning.begin():
                    raise CephError(CephFailure.TIMED_OUT, where, NOT_OPENED)
                return function(pools)

        running = asyncio.ensure_future(self._limited(call, where, name, within=within))
        running.add_done_callback(_retrieve)
        try:
            await asyncio.wait((running,), timeout=self._limits.operation.total_seconds())
            if not running.done() and beginning.give_up():
                self._forget_pools(scopes)
                raise CephError(CephFailure.TIMED_OUT, where, NOT_OPENED)
            return await running
        finally:
            beginning.give_up()
            running.cancel()

    async def _checked(self, scopes: Sequence[PoolScope]) -> ClusterCalls:
        """The cluster, which has, or had when last asked, these pools. Raises CephError."""
        cluster = await self._connected()
        for scope in scopes:
            await self._check_pool(scope.pool)
        return cluster

    async def _check_pool(self, pool: str) -> None:
        if pool not in self._pool_ids and pool not in await self.pool_ids():
            raise CephError(CephFailure.POOL_NOT_FOUND, f"pool {pool}")

    def _forget_pools(self, scopes: Sequence[PoolScope]) -> None:
        """Monitors are asked for them again before the next call has a thread that waits."""
        gone = {scope.pool for scope in scopes}
        self._pool_ids = {pool: id_ for pool, id_ in self._pool_ids.items() if pool not in gone}

    async def pool_ids(self) -> Mapping[str, int]:
        """By name, as monitors know them now. Raises CephError."""
        listed = await self.command("osd lspools")
        self._pool_ids = {item["poolname"]: item["poolnum"] for item in listed}
        return self._pool_ids

    async def command(self, prefix: str, **arguments: object) -> Any:
        """What monitors answer. Raises CephError."""
        output, _ = await self.raw_command(prefix, arguments)
        return json.loads(output) if output.strip() else None

    async def raw_command(
        self, prefix: str, arguments: Mapping[str, object], given: bytes = b""
    ) -> tuple[bytes, str]:
        """The same as bytes, and the remark that comes with them. Raises CephError."""
        cluster = await self._connected()
        text = json.dumps({"prefix": prefix, "format": "json", **arguments})
        where = self._monitors
        code, output, message = await self._limited(lambda: cluster.mon_command(text, given), where)
        if code:
            raise ceph_error(code, where, message)
        return output, message

    async def fsid(self) -> str:
        """What the cluster calls itself; monitors are asked for it once. Raises CephError."""
        return (await self._connected()).get_fsid()

    async def address(self) -> str:
        """Of this client, as a blocklist names it. Raises CephError."""
        cluster = await self._connected()
        return await self._limited(cluster.get_addrs, self._monitors)

    async def wait_for_newest_map(self) -> None:
        """What this client asks of OSDs from now on they do by the newest map, so none of them
        takes orders of a client that is on the blocklist of that map. Raises CephError."""
        cluster = await self._connected()
        limit = self._limits.operation
        await self._limited(cluster.wait_for_latest_osdmap, self._monitors, within=limit)

    async def reach_storage(self, pool: str, objects: int) -> None:
        """Lets OSDs of the pool learn of the newest map: each that is asked for an object by a
        client with that map waits until it has it as well. That there are no such objects is no
        error. Raises CephError."""
        missing = self.bindings.rados.ObjectNotFound

        def look(opened: Ioctx) -> None:
            for number in range(objects):
                with contextlib.suppress(missing):
                    opened.stat(f"plimsoll-probe-{number}")

        await self.on_pool(PoolScope(pool=pool), look)

    async def _connected(self) -> ClusterCalls:
        """Calls that come meanwhile wait for the one that connects, and fail with it."""
        failures = self._failures
        async with self._connecting:
            if self._cluster is None and self._failures > failures and self._failure is not None:
                raise self._failure.again()
            if self._cluster is None:
                cluster = self.bindings.rados.Rados(
                    rados_id=self._access.user, conf=_options(self._access, self._limits)
                )
                try:
                    await self._limited(cluster.connect, self._monitors)
                except CephError as error:
                    self._failure, self._failures = error.again(), self._failures + 1
                    await self._give_back(cluster)
                    raise
                self._cluster = cluster
            return self._cluster

    async def _limited(
        self,
        function: Callable[[], T],
        where: str,
        name: str = "",
        *,
        within: timedelta | None = None,
    ) -> T:
        foreign = self.bindings.rados.Error, self.bindings.rbd.Error
        counted = self._calls.counted(function, name)
        try:
            limit = within or self._limits.call
            return await in_thread_within(limit, counted, (CephError, *foreign))
        except TimeoutError as error:
            self._calls.give_up(name)
            raise CephError(CephFailure.TIMED_OUT, where, GIVEN_UP) from error
        except foreign as error:
            raise self._failed(error, where) from error

    def _failed(self, error: Exception, where: str) -> CephError:
        number = getattr(error, "errno", None) or 0
        failed = ceph_error(number, where, "" if number else str(error))
        if failed.failure is CephFailure.FENCED:
            # This client gets no answer any more: the next call connects anew. What other calls
            # still have of it goes with them.
            self._cluster = None
        return failed

    async def close(self) -> None:
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            await self._give_back(cluster)

    async def _give_back(self, cluster: ClusterCalls) -> None:
        """One that does not end in time is left to the end of the process, and so is one with calls
        that do not: librados frees what they use, and the process would crash."""
        limit = 2 * self._limits.operation

        def shut_down() -> None:
            if self._calls.end_within(limit):
                cluster.shutdown()

        with contextlib.suppress(TimeoutError):
            await in_thread_within(limit + self._limits.operation, shut_down, ())


async def _unless_done(running: asyncio.Future[Any], probe: Awaitable[None]) -> None:
    """Raises what the probe raises, unless the call that it is for ends before."""
    probing = asyncio.ensure_future(probe)
    probing.add_done_callback(_retrieve)
    try:
        await asyncio.wait((running, probing), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            probing.result()
    finally:
        probing.cancel()


def _retrieve(ended: asyncio.Future[Any]) -> None:
    """An error of a call that was given up at the same moment has been told already."""
    if not ended.cancelled():
        ended.exception()


def _opened(cluster: ClusterCalls, scope: PoolScope) -> Ioctx:
    opened = cluster.open_ioctx(scope.pool)
    opened.set_osdmap_full_try()
    opened.set_namespace(scope.namespace)
    return opened


def _options(access: CephAccess, limits: CephLimits) -> dict[str, str]:
    seconds = str(max(1, round(limits.operation.total_seconds())))
    timeouts = ("rados_osd_op_timeout", "rados_mon_op_timeout", "client_mount_timeout")
    return {
        "mon_host": access.monitors,
        "key": access.key,
        **dict.fromkeys(timeouts, seconds),
        # An idle client may not notice that an OSD came back: it looks after this many seconds.
        "objecter_timeout": "2",
        "objecter_tick_interval": "1",
        "err_to_stderr": "false",
        "log_to_stderr": "false",
        "admin_socket": "",
    }
