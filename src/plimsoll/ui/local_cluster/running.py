"""A local cluster, started, for as long as a block lasts."""

import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import ConfigError, environment
from plimsoll.ui.local_cluster import addresses, kept_settings, removed_nodes
from plimsoll.ui.local_cluster.children import ChildEnvironment, RunningChild, kept_up
from plimsoll.ui.local_cluster.directory_lock import locked
from plimsoll.ui.local_cluster.health_watch import HealthRule
from plimsoll.ui.local_cluster.kept_settings import Settlement
from plimsoll.ui.local_cluster.layout import (
    ClusterOptions,
    ControlPlaneOptions,
    Stages,
    first_of_separate,
    light,
    separate,
    write_settings,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRequest:
    """What the user asked for, before it is compared with what the directory keeps."""

    data_dir: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ClusterSettings that were given; None: not given."""
    log_level: str = "warning"
    control: ControlPlaneOptions = field(default_factory=ControlPlaneOptions)
    restart_unresponsive: bool = True
    """Whether a process that is alive and does not answer is ended and started again."""
    separate: bool = False
    """Whether every part is a process of its own, instead of two processes for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartReports:
    """Who is told what while the cluster starts and runs."""

    on_line: Callable[[str, str], None]
    """Gets the name of a child and a line of its log."""
    on_change: Callable[[str], None]
    """Gets a sentence for each way in which this start differs from the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCluster:
    wanted: ClusterOptions
    children: dict[str, RunningChild]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    wanted: ClusterOptions
    settlement: Settlement
    removed: tuple[str, ...] = ()
    """Nodes of the last start that this one does not have."""


@asynccontextmanager
async def local_cluster(
    request: ClusterRequest, reports: StartReports, *, is_root: bool
) -> AsyncIterator[LocalCluster]:
    """Raises ConfigError, DirectoryInUseError, ChildFailedError, LedgerError, KubeError, OSError.

    Nothing in the directory is changed before it is certain that the cluster can be started so.
    """
    clock = SystemClock()
    _planned(request)
    request.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        inherited = await stack.enter_async_context(locked(request.data_dir, clock))
        start = _prepared(_planned(request), reports)
        wanted = start.wanted
        children: dict[str, RunningChild] = {}
        starting = ChildEnvironment(
            clock=clock,
            environment=dict(environment()),
            on_line=reports.on_line,
            inherited=(inherited,),
            health=HealthRule() if request.restart_unresponsive else None,
            on_restart=lambda: addresses.write(wanted, children.values()),
        )
        beginning = _Beginning(stack, starting, children)
        if request.separate:
            await _separate(start, beginning, is_root=is_root)
        else:
            await _light(start, beginning)
        addresses.write(wanted, children.values())
        yield LocalCluster(wanted=wanted, children=children)


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What the processes are started with, and where those that run are noted."""

    stack: AsyncExitStack
    environment: ChildEnvironment
    children: dict[str, RunningChild]

    async def keep_up(self, stages: Stages) -> None:
        """Raises ChildFailedError."""
        self.children.update(
            await self.stack.enter_async_context(kept_up(stages, self.environment))
        )


async def _light(start: _Start, beginning: _Beginning) -> None:
    """The control plane prepares its own API server."""
    await beginning.keep_up(light(start.wanted))
    kept_settings.keep(start.wanted.data_dir, start.settlement.settings)


async def _separate(start: _Start, beginning: _Beginning, *, is_root: bool) -> None:
    # Loaded only here: the supervisor of the light form stays small without an HTTP client.
    from plimsoll.ui.local_cluster import preparing  # noqa: PLC0415

    wanted = start.wanted
    await beginning.keep_up(first_of_separate(wanted))
    async with preparing.client_of(wanted, beginning.environment.clock) as client:
        await preparing.prepare(client, wanted, start.removed, is_root=is_root)
    kept_settings.keep(wanted.data_dir, start.settlement.settings)
    await beginning.keep_up(separate(wanted))


def _planned(request: ClusterRequest) -> _Start:
    """Only reads. Raises ConfigError when the cluster cannot be started so."""
    before = kept_settings.read(request.data_dir)
    settlement = kept_settings.settle(before, request.settings)
    wanted = _wanted(request, settlement.settings)
    if complaint := wanted.complaint():
        raise ConfigError(f"{complaint}; choose a shorter one")
    if before is None:
        return _Start(wanted=wanted, settlement=settlement)
    removed = removed_nodes.removed(_wanted(request, before), wanted)
    return _Start(wanted=wanted, settlement=settlement, removed=removed)


def _wanted(request: ClusterRequest, settings: kept_settings.ClusterSettings) -> ClusterOptions:
    return ClusterOptions(
        data_dir=request.data_dir,
        **msgspec.structs.asdict(settings),
        log_level=request.log_level,
        control=request.control,
    )


def _prepared(start: _Start, reports: StartReports) -> _Start:
    """The directory as the processes need it; the caller holds its lock. Raises ConfigError."""
    before, wanted = start.settlement.before, start.wanted
    if before is not None:
        removed_nodes.refuse_occupied(wanted, start.removed, before.nodes)
    for change in start.settlement.changes:
        reports.on_change(change)
    for node in start.removed:
        reports.on_change(f"{node} is removed; its files stay under {wanted.data_dir}")
    settings = start.settlement.settings
    if not settings.port:
        settings = msgspec.structs.replace(settings, port=_free_port())
    # Nodes that are to go are kept until the API server has forgotten them.
    most = max(settings.nodes, before.nodes) if before else settings.nodes
    kept_settings.keep(wanted.data_dir, msgspec.structs.replace(settings, nodes=most))
    for directory in ("run", "drivers", "nodes", "disks"):
        (wanted.data_dir / directory).mkdir(mode=0o700, exist_ok=True)
    wanted = replace(wanted, port=settings.port)
    write_settings(wanted)
    return replace(start, wanted=wanted, settlement=replace(start.settlement, settings=settings))


def _free_port() -> int:
    """For the first start; the same in every life: clients find the server again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port
