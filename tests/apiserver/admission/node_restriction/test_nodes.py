"""A kubelet looks after its own Node, and draws no pods to it by taints or labels."""

import pytest

from tests.apiserver.admission.node_restriction.kubelets import NODES, restricted

ALLOWED = (
    "topology.kubernetes.io/zone",
    "kubernetes.io/hostname",
    "node.kubernetes.io/anything",
    "x.kubelet.kubernetes.io/anything",
    "topology.local.plimsoll.dev/node",
    "plain",
)
FORBIDDEN = (
    "node-restriction.kubernetes.io/a",
    "x.node-restriction.kubernetes.io/a",
    "node-role.kubernetes.io/control-plane",
    "example.k8s.io/a",
)


@pytest.mark.parametrize("label", ALLOWED)
async def test_labels_of_its_own_and_of_drivers_are_set(label: str) -> None:
    async with restricted() as cluster:
        await cluster.done("PATCH", f"{NODES}/node-a", {"metadata": {"labels": {label: "x"}}})


@pytest.mark.parametrize("label", FORBIDDEN)
async def test_labels_by_which_others_choose_nodes_are_neither_set_nor_taken_away(
    label: str,
) -> None:
    async with restricted() as cluster:
        set_ = {"metadata": {"labels": {label: "x"}}}
        why = await cluster.refusal("PATCH", f"{NODES}/node-a", set_)
        assert why == f"is not allowed to modify labels: {label}"
        assert (await cluster.admin.ask("PATCH", f"{NODES}/node-a", set_)).status == 200
        gone = {"metadata": {"labels": {label: None}}}
        assert await cluster.refusal("PATCH", f"{NODES}/node-a", gone) == why
        assert (await cluster.admin.ask("DELETE", f"{NODES}/node-a")).status == 200
        named = {"metadata": {"name": "node-a", "labels": {label: "x", "plain": "y"}}}
        assert await cluster.refusal("POST", NODES, named) == (
            f'node "node-a" is not allowed to set the following labels: {label}'
        )


async def test_the_node_of_another_is_not_written() -> None:
    async with restricted() as cluster:
        why = 'node "node-a" is not allowed to modify node "node-b"'
        label = {"metadata": {"labels": {"a": "b"}}}
        assert await cluster.refusal("PATCH", f"{NODES}/node-b", label) == why
        status = {"status": {"phase": "Running"}}
        assert await cluster.refusal("PATCH", f"{NODES}/node-b/status", status) == why
        other = {"metadata": {"name": "node-c"}}
        assert await cluster.refusal("POST", NODES, other) == why.replace("node-b", "node-c")


async def test_taints_and_owners_are_not_changed_by_the_node() -> None:
    async with restricted() as cluster:
        taint = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
        path = f"{NODES}/node-a"
        why = 'node "node-a" is not allowed to modify taints'
        assert await cluster.refusal("PATCH", path, taint) == why
        owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}
        owned = {"metadata": {"ownerReferences": [owner]}}
        assert await cluster.refusal("PATCH", path, owned) == (
            'node "node-a" is not allowed to modify ownerReferences'
        )
