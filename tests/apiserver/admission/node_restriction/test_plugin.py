"""Kubelets write about their own node; other users are not restricted."""

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.admission.attributes import Attributes
from plimsoll.apiserver.admission.node_restriction import plugin
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.admission.node_restriction.kubelets import HERE, NODES, restricted
from tests.apiserver.admission.requests import a_request


async def test_the_administrator_is_not_restricted() -> None:
    async with restricted() as cluster:
        labels = {"metadata": {"labels": {"node-restriction.kubernetes.io/a": "b"}}}
        reply = await cluster.admin.ask("PATCH", f"{NODES}/node-a", labels)
        assert reply.status == 200
        assert (await cluster.admin.ask("DELETE", f"{HERE}/pods/theirs")).status == 200


@pytest.mark.parametrize(
    "user",
    [
        User(name="system:node:node-a"),
        User(name="plimsoll:hollow-nodes", groups=("system:nodes",)),
    ],
    ids=["without the group", "without the name"],
)
def test_only_name_and_group_together_are_a_kubelet(user: User) -> None:
    node = {"kind": "Node", "metadata": {"name": "node-b"}}
    plugin.admit(_by(user, node))


def test_a_kubelet_without_a_node_writes_nothing() -> None:
    user = User(name="system:node:", groups=("system:nodes",))
    with pytest.raises(ApiError, match='could not determine node from user "system:node:"'):
        plugin.admit(_by(user, {"kind": "Node", "metadata": {"name": "a"}}))


def _by(user: User, document: Document) -> Attributes:
    return msgspec.structs.replace(a_request(document), user=user.name, groups=user.groups)
