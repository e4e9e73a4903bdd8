"""The control plane in one process: the API server, and all that works through it.

Controller, scheduler and provisioners reach the server without a network between, each as the user
that it would be as a process, and go through the same authorization, admission and validation as
every other client. The drivers are reached over their sockets. A part that fails is started again
by itself. When the server fails, the process ends: no part can do anything without it.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from plimsoll.apiserver.access.users import ADMIN, AUTHENTICATED, User
from plimsoll.apiserver.flags import ApiServerFlags
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import ServingSockets, prepare_process, serving
from plimsoll.processes.controller.settings import PREFIX, ControllerSettings
from plimsoll.processes.provisioner.settings import ProvisionerFlags, load as load_provisioner
from plimsoll.processes.scheduler.settings import SchedulerSettings, load as load_scheduler
from plimsoll.reconcile.process import OnReady, system_identity
from plimsoll.runtime.clock import Clock, SystemClock
from plimsoll.runtime.config import ConfigError, Sources, environment, load_settings
from plimsoll.runtime.flags import read_arguments
from plimsoll.runtime.ids import system_chance
from plimsoll.runtime.signals import until_signalled
from plimsoll.ui.local_cluster import layout
from plimsoll.ui.local_cluster.access import identities
from plimsoll.ui.local_cluster.access.clients import MANAGER
from plimsoll.ui.local_cluster.access.identities import PartIdentity
from plimsoll.ui.local_cluster.assembled import run_parts, supervision, until
from plimsoll.ui.local_cluster.children import Child
from plimsoll.ui.local_cluster.layout import ClusterOptions
from plimsoll.ui.local_cluster.objects import LOCAL, POOLS
from plimsoll.ui.local_cluster.preparing import prepare
from plimsoll.ui.local_cluster.removed_nodes import removed
from plimsoll.ui.parts.assembly import Part, PartEnvironment, PartLife
from plimsoll.ui.parts.control_plane import EXPECTED, controller, provisioner, scheduler
from plimsoll.wire.csi.server import socket_path
from plimsoll.wire.kube import KubeClient

NAME = "control-plane"


async def run(
    before: ClusterOptions, wanted: ClusterOptions, on_ready: OnReady, *, is_root: bool
) -> None:
    """Until SIGTERM or SIGINT. `before` is what the directory keeps. Raises ConfigError."""
    prepare_process()
    clock = SystemClock()
    try:
        server = _server_flags(wanted).settings()
    except ValueError as error:
        raise ConfigError(str(error)) from error

    async def work() -> None:
        async with serving(server) as served:
            parts = _parts(wanted, lambda user: _environment(served, clock, user))
            client = _environment(served, clock, ADMIN).client(MANAGER)
            await prepare(client, wanted, removed(before, wanted), is_root=is_root)

            def begun(addresses: list[str]) -> None:
                listed = ", ".join([f"apiserver {served.url}", *addresses])
                on_ready(f"plimsoll {NAME} ready: {listed}")

            with_ = supervision(clock, EXPECTED)
            working = asyncio.ensure_future(run_parts(NAME, parts, with_, begun))
            await _while_served(served, working)

    await until_signalled(work())


async def _while_served(served: ServingSockets, working: "asyncio.Future[None]") -> None:
    """Raises what the parts raise before they have begun, and what ends the server."""
    broken = asyncio.ensure_future(served.broken())
    try:
        done, _ = await asyncio.wait((working, broken), return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in (working, broken):
            task.cancel()
        await asyncio.gather(working, broken, return_exceptions=True)


def _environment(served: ServingSockets, clock: Clock, user: User) -> PartEnvironment:
    def client(component: str) -> KubeClient:
        transport = InProcessTransport(served.server, user)
        return KubeClient(transport, clock=clock, chance=system_chance(), manager=component)

    return PartEnvironment(clock=clock, client=client, identity=system_identity)


def _user(identity: PartIdentity) -> User:
    return User(name=identity.user, groups=(*identity.groups, AUTHENTICATED))


def _parts(
    wanted: ClusterOptions, environment_of: Callable[[User], PartEnvironment]
) -> dict[str, Part]:
    """Each from the arguments of the command that it would be. Raises ConfigError."""

    def around(identity: PartIdentity) -> PartEnvironment:
        return environment_of(_user(identity))

    control = _controller_settings(layout.controller(wanted))
    schedule = _scheduler_settings(layout.scheduler(wanted))
    parts = {
        "controller": controller(control, around(identities.CONTROLLER)),
        "scheduler": scheduler(schedule, around(identities.SCHEDULER)),
    }
    for driver, child in zip((LOCAL, POOLS), layout.provisioners(wanted), strict=True):
        settings = _provisioner_settings(child)
        identity = identities.provisioner(driver)
        parts[child.name] = _beside_its_driver(settings, around(identity))
    return parts


def _beside_its_driver(settings: ProvisionerFlags, around: PartEnvironment) -> Part:
    """The driver is in another process, which may be away for a while."""
    socket = socket_path(settings.csi_address)
    live = provisioner(settings, around)

    async def when_reached(life: PartLife) -> None:
        await until(lambda: _is_reached(socket), around.clock)
        await live(life)

    return when_reached


async def _is_reached(socket: Path) -> bool:
    """A process that was killed leaves its socket behind: only a connection can tell."""
    try:
        _, writer = await asyncio.open_unix_connection(str(socket))
    except OSError:
        return False
    writer.close()
    return True


def _server_flags(wanted: ClusterOptions) -> ApiServerFlags:
    given = read_arguments(ApiServerFlags, layout.api_server(wanted).arguments[1:])
    return load_settings(ApiServerFlags, Sources(flags=given))


def _controller_settings(child: Child) -> ControllerSettings:
    given = read_arguments(ControllerSettings, child.arguments[1:])
    sources = Sources(environment=environment(), prefix=PREFIX, flags=given)
    return load_settings(ControllerSettings, sources)


def _scheduler_settings(child: Child) -> SchedulerSettings:
    given = read_arguments(SchedulerSettings, child.arguments[1:])
    return load_scheduler(None, environment(), given)


def _provisioner_settings(child: Child) -> ProvisionerFlags:
    given = read_arguments(ProvisionerFlags, child.arguments[1:])
    return load_provisioner({**environment(), **dict(child.environment)}, given)
