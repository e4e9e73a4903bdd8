"""A local cluster, started, for as long as a block lasts."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from plimsoll.api.registry import Document, resources_by_kind
from plimsoll.runtime.clock import Clock, SystemClock
from plimsoll.runtime.config import ConfigError, environment
from plimsoll.runtime.ids import system_chance
from plimsoll.ui.local_cluster.children import Around, RunningChild, kept_up
from plimsoll.ui.local_cluster.hollow import hollow
from plimsoll.ui.local_cluster.layout import Wanted, api_server, stages, write_settings
from plimsoll.ui.local_cluster.objects import first_objects
from plimsoll.wire.connect import connect
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import documents
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import Surroundings, Wish

MANAGER = "plimsoll-up"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCluster:
    wanted: Wanted
    client: KubeClient
    children: dict[str, RunningChild]


def with_port(wanted: Wanted) -> Wanted:
    """The same port in every life: clients find the server again after it was restarted."""
    if wanted.port:
        return wanted
    kept = wanted.data_dir / "port"
    if kept.exists():
        return replace(wanted, port=int(kept.read_text()))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    kept.write_text(f"{port}\n")
    return replace(wanted, port=port)


@asynccontextmanager
async def local_cluster(
    wanted: Wanted, on_line: Callable[[str, str], None], *, is_root: bool
) -> AsyncIterator[LocalCluster]:
    """Raises ConfigError, ChildFailedError, KubeError, OSError."""
    if complaint := wanted.complaint():
        raise ConfigError(f"{complaint}; choose a shorter one")
    clock = SystemClock()
    for directory in ("run", "drivers", "nodes", "disks"):
        (wanted.data_dir / directory).mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = with_port(wanted)
    write_settings(wanted)
    around = Around(clock=clock, environment=dict(environment()), on_line=on_line)
    async with AsyncExitStack() as stack:
        children = await stack.enter_async_context(kept_up([[api_server(wanted)]], around))
        client = _client(wanted, clock)
        stack.push_async_callback(client.close)
        await create_missing(client, first_objects(real=not wanted.hollow, root=is_root))
        if wanted.hollow:
            await stack.enter_async_context(hollow(wanted, client, clock))
        children |= await stack.enter_async_context(kept_up(stages(wanted), around))
        yield LocalCluster(wanted=wanted, client=client, children=children)


def _client(wanted: Wanted, clock: Clock) -> KubeClient:
    wish = Wish(kubeconfig=str(wanted.kubeconfig))
    around = Surroundings(environment=environment(), clock=clock)
    return connect(wish, around, system_chance(), manager=MANAGER)


async def create_missing(client: KubeClient, objects: list[Document]) -> None:
    """On a second start most are there; what the user changed is left as it is."""
    for document in objects:
        group, _, version = document["apiVersion"].rpartition("/")
        resource = resources_by_kind()[group, version, document["kind"]]
        try:
            await client.create(documents(resource), document)
        except KubeError as error:
            if error.failure is not Failure.ALREADY_EXISTS:
                raise
