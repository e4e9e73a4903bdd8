"""A kubelet reports on pods of its node, ends and evicts them, and mirrors its static ones."""

from collections.abc import Callable

import pytest

from plimsoll.api.registry import Document
from tests.apiserver.admission.node_restriction.kubelets import (
    HERE,
    NODES,
    Restricted,
    a_pod,
    restricted,
)

PODS = f"{HERE}/pods"
MIRROR = "kubernetes.io/config.mirror"


async def test_the_status_of_pods_on_other_nodes_is_not_written() -> None:
    async with restricted() as cluster:
        running = {"status": {"phase": "Running"}}
        await cluster.done("PATCH", f"{PODS}/mine/status", running)
        assert await cluster.refusal("PATCH", f"{PODS}/theirs/status", running) == (
            'node "node-a" can only update pod status for pods with spec.nodeName set to itself'
        )
        labelled = {"metadata": {"labels": {"a": "b"}}}
        assert await cluster.refusal("PATCH", f"{PODS}/mine/status", labelled) == (
            'node "node-a" cannot update labels through pod status'
        )


async def test_pods_on_other_nodes_are_neither_deleted_nor_evicted() -> None:
    async with restricted() as cluster:
        assert await cluster.refusal("DELETE", f"{PODS}/theirs") == (
            'node "node-a" can only delete pods with spec.nodeName set to itself'
        )
        # A body that names another pod changes nothing.
        eviction: Document = {"apiVersion": "policy/v1", "kind": "Eviction"}
        for named in ("theirs", "mine"):
            body = eviction | {"metadata": {"name": named}}
            reply = await cluster.kubelet.ask("POST", f"{PODS}/theirs/eviction", body)
            assert reply.status in (400, 403)
        assert (await cluster.admin.ask("GET", f"{PODS}/theirs")).status == 200
        mine = eviction | {"metadata": {"name": "mine"}}
        await cluster.done("POST", f"{PODS}/mine/eviction", mine)


async def mirror(cluster: Restricted) -> Document:
    uid = (await cluster.admin.ask("GET", f"{NODES}/node-a")).document["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": uid, "controller": True}
    pod = a_pod("static-node-a", "node-a", tolerations=[{"operator": "Exists"}])
    pod["metadata"] |= {"annotations": {MIRROR: "hash"}, "ownerReferences": [owner]}
    return pod


async def test_a_static_pod_is_mirrored() -> None:
    async with restricted() as cluster:
        await cluster.done("POST", PODS, await mirror(cluster))


def _owner(pod: Document) -> Document:
    owner: Document = pod["metadata"]["ownerReferences"][0]
    return owner


def _mounts(pod: Document, **source: object) -> None:
    pod["spec"]["volumes"] = [{"name": "v", **source}]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda pod: pod["metadata"].pop("annotations"),
            (
                'pod does not have "kubernetes.io/config.mirror" annotation, '
                'node "node-a" can only create mirror pods'
            ),
        ),
        (
            lambda pod: pod["spec"].update(nodeName="node-b"),
            'node "node-a" can only create pods with spec.nodeName set to itself',
        ),
        (
            lambda pod: pod["metadata"].pop("ownerReferences"),
            'node "node-a" can only create pods with an owner reference set to itself',
        ),
        (
            lambda pod: _owner(pod).update(name="node-b"),
            'node "node-a" can only create pods with an owner reference set to itself',
        ),
        (
            lambda pod: _owner(pod).pop("controller"),
            'node "node-a" can only create pods with a controller owner reference set to itself',
        ),
        (
            lambda pod: _owner(pod).update(blockOwnerDeletion=True),
            'node "node-a" must not set blockOwnerDeletion on an owner reference',
        ),
        (
            lambda pod: _mounts(pod, secret={"secretName": "s"}),
            'node "node-a" can not create pods that reference secrets',
        ),
        (
            lambda pod: _mounts(pod, persistentVolumeClaim={"claimName": "c"}),
            'node "node-a" can not create pods that reference persistentvolumeclaims',
        ),
        (
            lambda pod: pod["spec"].update(serviceAccountName="default"),
            'node "node-a" can not create pods that reference serviceaccounts',
        ),
    ],
)
async def test_other_pods_are_not_created(change: Callable[[Document], object], why: str) -> None:
    async with restricted() as cluster:
        pod = await mirror(cluster)
        change(pod)
        assert await cluster.refusal("POST", PODS, pod) == why


async def test_the_owner_is_the_node_of_this_uid() -> None:
    async with restricted() as cluster:
        pod = await mirror(cluster)
        uid = _owner(pod)["uid"]
        _owner(pod)["uid"] = "other"
        why = await cluster.refusal("POST", PODS, pod)
        assert why == f"node node-a UID mismatch: expected other got {uid}"
