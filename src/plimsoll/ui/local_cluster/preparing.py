"""Prepares the API server of a local cluster: its classes, drivers and roles, and the credentials
of all parts, before any other part runs.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document, resources_by_kind
from plimsoll.runtime.clock import Clock
from plimsoll.ui.local_cluster import removed_nodes
from plimsoll.ui.local_cluster.access import identities
from plimsoll.ui.local_cluster.access.clients import connected
from plimsoll.ui.local_cluster.access.credentials import remove_credentials, write_credentials
from plimsoll.ui.local_cluster.access.roles import role_objects
from plimsoll.ui.local_cluster.layout import ClusterOptions
from plimsoll.ui.local_cluster.objects import first_objects
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import Kind, documents
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import merge_patch


@asynccontextmanager
async def client_of(wanted: ClusterOptions, clock: Clock) -> AsyncIterator[KubeClient]:
    client = connected(wanted.kubeconfig, clock)
    try:
        yield client
    finally:
        await client.close()


async def prepare(
    client: KubeClient, wanted: ClusterOptions, removed: tuple[str, ...], *, is_root: bool
) -> None:
    """Nodes that are to go are forgotten, and what a cluster has from the start is there.

    Credentials come last: who finds its own may do what it needs.
    """
    await removed_nodes.delete_objects(client, removed)
    remove_credentials(wanted.data_dir, map(identities.node, removed))
    await create_missing(client, first_objects(real=not wanted.hollow, root=is_root))
    await write_roles(client)
    write_credentials(wanted.data_dir, wanted.url, wanted.identities, client.clock.now())


async def create_missing(client: KubeClient, objects: list[Document]) -> None:
    """On a second start most are there; what the user changed is left as it is."""
    for document in objects:
        await _is_created(client, document)


async def write_roles(client: KubeClient) -> None:
    """Those of an older version get the rules of this one."""
    for document in role_objects():
        if not await _is_created(client, document) and "rules" in document:
            meta = document["metadata"]
            key = ObjectKey(meta.get("namespace", ""), meta["name"])
            await client.patch(_kind(document), key, merge_patch({"rules": document["rules"]}))


async def _is_created(client: KubeClient, document: Document) -> bool:
    """False: it was there before."""
    try:
        await client.create(_kind(document), document)
    except KubeError as error:
        if error.failure is not Failure.ALREADY_EXISTS:
            raise
        return False
    return True


def _kind(document: Document) -> Kind[Any]:
    group, _, version = document["apiVersion"].rpartition("/")
    return documents(resources_by_kind()[group, version, document["kind"]])
