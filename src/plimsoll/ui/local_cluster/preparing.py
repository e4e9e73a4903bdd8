"""What the API server of a local cluster is told before anything else runs on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from plimsoll.api.registry import Document, resources_by_kind
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.config import environment
from plimsoll.runtime.ids import system_chance
from plimsoll.ui.local_cluster import removed_nodes
from plimsoll.ui.local_cluster.layout import ClusterOptions
from plimsoll.ui.local_cluster.objects import first_objects
from plimsoll.wire.connect import connect
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import documents
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment

MANAGER = "plimsoll-up"


def connected(wanted: ClusterOptions, clock: Clock, manager: str = MANAGER) -> KubeClient:
    """A client over the network. Raises KubeconfigError."""
    options = ConnectionOptions(kubeconfig=str(wanted.kubeconfig))
    found = KubeconfigEnvironment(environment=environment(), clock=clock)
    return connect(options, found, system_chance(), manager=manager)


@asynccontextmanager
async def client_of(wanted: ClusterOptions, clock: Clock) -> AsyncIterator[KubeClient]:
    client = connected(wanted, clock)
    try:
        yield client
    finally:
        await client.close()


async def prepare(
    client: KubeClient, wanted: ClusterOptions, removed: tuple[str, ...], *, is_root: bool
) -> None:
    """Nodes that are to go are forgotten, and what a cluster has from the start is there."""
    await removed_nodes.delete_objects(client, removed)
    await create_missing(client, first_objects(real=not wanted.hollow, root=is_root))


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
