"""A kubelet gets tokens that pods on its node mount, and no others."""

from plimsoll.api.registry import Document
from tests.apiserver.access.people import allow
from tests.apiserver.admission.node_restriction.kubelets import (
    HERE,
    Restricted,
    a_pod,
    restricted,
)

TOKEN = f"{HERE}/serviceaccounts/robot/token"


async def mounting(cluster: Restricted, name: str, node: str) -> Document:
    """A reference to a pod that mounts tokens for the server and for `vault`."""
    sources = [{"serviceAccountToken": {"path": at, "audience": at}} for at in ("vault",)]
    sources.append({"serviceAccountToken": {"path": "token"}})
    volumes = [{"name": "t", "projected": {"sources": sources}}]
    pod = a_pod(name, node, serviceAccountName="robot", volumes=volumes)
    uid = (await cluster.made(f"{HERE}/pods", pod))["metadata"]["uid"]
    return {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}


async def test_tokens_are_bound_to_a_pod_on_the_node_and_to_what_it_mounts() -> None:
    async with restricted() as cluster:
        await cluster.made(f"{HERE}/serviceaccounts", {"metadata": {"name": "robot"}})
        here = await mounting(cluster, "here", "node-a")
        there = await mounting(cluster, "there", "node-b")

        def asked(**spec: object) -> Document:
            return {"spec": spec}

        await cluster.done("POST", TOKEN, asked(boundObjectRef=here))
        await cluster.done("POST", TOKEN, asked(boundObjectRef=here, audiences=["vault"]))
        refused = {
            "node requested token not bound to a pod": asked(),
            "node requested token with a pod binding without a uid": asked(
                boundObjectRef=here | {"uid": ""}
            ),
            "node requested token bound to a pod scheduled on a different node": asked(
                boundObjectRef=there
            ),
            "node may only request 0 or 1 audiences": asked(
                boundObjectRef=here, audiences=["vault", "bank"]
            ),
            'audience "bank" not found in pod spec volume, system:node:node-a is not authorized '
            "to request tokens for this audience": asked(boundObjectRef=here, audiences=["bank"]),
        }
        for why, body in refused.items():
            assert await cluster.refusal("POST", TOKEN, body) == why


async def test_a_role_allows_other_audiences() -> None:
    async with restricted() as cluster:
        await cluster.made(f"{HERE}/serviceaccounts", {"metadata": {"name": "robot"}})
        here = await mounting(cluster, "here", "node-a")
        rule = {
            "verbs": ["request-serviceaccounts-token-audience"],
            "apiGroups": [""],
            "resources": ["bank"],
        }
        await allow(cluster.admin, "system:node:node-a", rule)
        body = {"spec": {"boundObjectRef": here, "audiences": ["bank"]}}
        await cluster.done("POST", TOKEN, body)


async def test_what_a_kubelet_may_not_ask_for_is_told_of_accounts_that_are_not_there() -> None:
    async with restricted() as cluster:
        rule = {"verbs": ["create"], "apiGroups": [""], "resources": ["serviceaccounts/token"]}
        await allow(cluster.admin, "system:node:node-a", rule)
        why = await cluster.refusal("POST", f"{HERE}/serviceaccounts/ghost/token", {"spec": {}})
        assert why == "node requested token not bound to a pod"
