"""A cluster with two nodes and a pod on each, and the kubelet of the first."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.users import AUTHENTICATED, User
from tests.apiserver.access.people import Person, guarded
from tests.apiserver.api import Api

HERE = "/api/v1/namespaces/default"
NODES = "/api/v1/nodes"
KUBELET = User(name="system:node:node-a", groups=("system:nodes", AUTHENTICATED))


def a_pod(name: str, node: str, **spec: object) -> Document:
    containers: Document = {"containers": [{"name": "c", "image": "i"}], "nodeName": node}
    return {"metadata": {"name": name}, "spec": containers | spec}


class Restricted:
    def __init__(self, admin: Api) -> None:
        self.admin = admin
        self.kubelet = Person(admin, KUBELET)

    async def made(self, path: str, document: Document) -> Document:
        reply = await self.admin.ask("POST", path, document)
        assert reply.status == 201, reply.document
        stored: Document = reply.document
        return stored

    async def refusal(self, method: str, path: str, body: object = None) -> str:
        """What the kubelet is told, after the name of the object."""
        reply = await self.kubelet.ask(method, path, body)
        assert reply.status == 403, reply.document
        message: str = reply.document["message"]
        return message.partition(" is forbidden: ")[2]

    async def done(self, method: str, path: str, body: object = None) -> Document:
        reply = await self.kubelet.ask(method, path, body)
        assert reply.status in (200, 201), reply.document
        document: Document = reply.document
        return document


@asynccontextmanager
async def restricted() -> AsyncIterator[Restricted]:
    async with guarded() as api:
        cluster = Restricted(api)
        for node in ("node-a", "node-b"):
            await cluster.made(NODES, {"metadata": {"name": node}})
        await cluster.made(f"{HERE}/pods", a_pod("mine", "node-a"))
        await cluster.made(f"{HERE}/pods", a_pod("theirs", "node-b"))
        yield cluster
