"""A server with the roles that every cluster has, and clients with names."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.users import AUTHENTICATED, User
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.upkeep.bootstrap import reconcile_bootstrap_roles
from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.transport import Request
from tests.apiserver.api import Api, Reply, serving

RBAC = "/apis/rbac.authorization.k8s.io/v1"
HERE = f"{RBAC}/namespaces/default"
REVIEWS = "/apis/authorization.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  (a path)
READ_PODS: Document = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}


class Person(Api):
    def __init__(self, api: Api, user: User) -> None:
        super().__init__(api.server)
        self.transport = InProcessTransport(api.server, user)


def a_person(api: Api, name: str, *groups: str) -> Person:
    return Person(api, User(name=name, groups=(*groups, AUTHENTICATED)))


@asynccontextmanager
async def guarded(clock: SteppedClock | None = None) -> AsyncIterator[Api]:
    async with serving(clock=clock) as api:
        await reconcile_bootstrap_roles(api.server.cluster)
        yield api


async def allow(api: Api, user: str, *rules: Document, name: str = "") -> None:
    """A role in the namespace `default`, bound to a user."""
    called = name or user.replace(":", "-")
    role = {"metadata": {"name": called}, "rules": list(rules)}
    assert (await api.ask("POST", f"{HERE}/roles", role)).status == 201
    assert (await bind(api, called, user)).status == 201


async def bind(api: Api, role: str, user: str, kind: str = "Role") -> Reply:
    binding = {
        "metadata": {"generateName": f"{role}-"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"kind": "User", "name": user}],
    }
    return await api.ask("POST", f"{HERE}/rolebindings", binding)


async def token_for(api: Api, account: str, **spec: Any) -> str:
    reply = await api.ask("POST", f"{ACCOUNTS}/{account}/token", {"spec": spec})
    assert reply.status == 201, reply.document
    token: str = reply.document["status"]["token"]
    return token


async def with_headers(api: Api, path: str, **headers: str) -> tuple[int, Document]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = await api.transport.request(Request(method="GET", path=path, headers=named))
    return response.status, msgspec.json.decode(response.body)
