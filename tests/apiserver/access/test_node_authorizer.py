"""Kubelets read what the pods on their node need, and write about their own node."""

from collections.abc import AsyncIterator

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.users import AUTHENTICATED, User
from tests.apiserver.access.people import Person, guarded
from tests.apiserver.api import Api

HERE = "/api/v1/namespaces/default"
KUBELET = User(name="system:node:node-a", groups=("system:nodes", AUTHENTICATED))


def a_pod(name: str, node: str, **spec: object) -> Document:
    containers: Document = {"containers": [{"name": "c", "image": "i"}], "nodeName": node}
    return {"metadata": {"name": name}, "spec": containers | spec}


@pytest.fixture
async def kubelet() -> AsyncIterator[Api]:
    """Of node-a, whose pod uses the claim `mine`, the secret `mine` and the config map `mine`."""
    async with guarded() as api:
        for kind in ("secrets", "configmaps", "serviceaccounts"):
            for name in ("mine", "theirs"):
                await api.ask("POST", f"{HERE}/{kind}", {"metadata": {"name": name}})
        volumes = [
            {"name": "a", "persistentVolumeClaim": {"claimName": "mine"}},
            {"name": "b", "secret": {"secretName": "mine"}},
            {
                "name": "c",
                "projected": {
                    "sources": [
                        {"configMap": {"name": "mine"}},
                        {"serviceAccountToken": {"path": "token"}},
                    ]
                },
            },
        ]
        mine = a_pod("mine", "node-a", volumes=volumes, serviceAccountName="mine")
        assert (await api.ask("POST", f"{HERE}/pods", mine)).status == 201
        assert (await api.ask("POST", f"{HERE}/pods", a_pod("theirs", "node-b"))).status == 201
        for name in ("mine", "theirs"):
            await make_volume(api, name)
        yield Person(api, KUBELET)


async def make_volume(
    api: Api, name: str, secrets: str = "default", source: Document | None = None
) -> None:
    size = {"storage": "1Gi"}
    claim = {
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": size},
            "volumeName": name,
        },
    }
    assert (await api.ask("POST", f"{HERE}/persistentvolumeclaims", claim)).status == 201
    secret = {"name": f"{name}-of-driver", "namespace": secrets}
    csi = {"driver": "d.example.com", "volumeHandle": name, "nodeStageSecretRef": secret}
    volume = {
        "metadata": {"name": name},
        "spec": {
            "capacity": size,
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": "default", "name": name},
        }
        | (source or {"csi": csi}),
    }
    assert (await api.ask("POST", "/api/v1/persistentvolumes", volume)).status == 201
    attachment = {
        "metadata": {"name": name},
        "spec": {
            "attacher": "d.example.com",
            "nodeName": "node-a" if name == "mine" else "node-b",
            "source": {"persistentVolumeName": name},
        },
    }
    path = "/apis/storage.k8s.io/v1/volumeattachments"
    assert (await api.ask("POST", path, attachment)).status == 201


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default/secrets/{}",
        "/api/v1/namespaces/default/configmaps/{}",
        "/api/v1/namespaces/default/serviceaccounts/{}",
        "/api/v1/namespaces/default/persistentvolumeclaims/{}",
        "/api/v1/namespaces/default/pods/{}",
        "/api/v1/persistentvolumes/{}",
        "/apis/storage.k8s.io/v1/volumeattachments/{}",
    ],
)
async def test_a_kubelet_reads_what_its_pods_need_and_nothing_else(kubelet: Api, path: str) -> None:
    assert (await kubelet.ask("GET", path.format("mine"))).status == 200
    refused = await kubelet.ask("GET", path.format("theirs"))
    assert refused.status == 403
    assert "no relationship found between node 'node-a'" in refused.document["message"]
    assert (await kubelet.ask("GET", path.format("none"))).status == 403


async def test_secrets_of_drivers_follow_the_volumes(kubelet: Api) -> None:
    path = f"{HERE}/secrets/{{}}-of-driver"
    assert (await kubelet.ask("GET", path.format("mine"))).status == 404
    assert (await kubelet.ask("GET", path.format("theirs"))).status == 403


@pytest.mark.parametrize(
    ("source", "is_read"),
    [
        pytest.param({"csi": {"nodePublishSecretRef": {}}}, True, id="publish"),
        pytest.param({"csi": {"nodeExpandSecretRef": {}}}, True, id="expand-on-the-node"),
        pytest.param({"csi": {"controllerPublishSecretRef": {}}}, False, id="attach"),
        pytest.param({"csi": {"controllerExpandSecretRef": {}}}, False, id="expand"),
        pytest.param({"azureFile": {"shareName": "s", "secretName": "key"}}, True, id="share"),
    ],
)
async def test_a_kubelet_reads_no_secrets_of_the_controller_of_a_driver(
    source: Document,
    is_read: bool,  # noqa: FBT001
) -> None:
    if "csi" in source:
        (field,) = source["csi"]
        reference = {"name": "key", "namespace": "default"}
        source = {"csi": {"driver": "d.example.com", "volumeHandle": "h", field: reference}}
    async with guarded() as api:
        volumes = [{"name": "a", "persistentVolumeClaim": {"claimName": "mine"}}]
        mine = a_pod("mine", "node-a", volumes=volumes)
        assert (await api.ask("POST", f"{HERE}/pods", mine)).status == 201
        await make_volume(api, "mine", source=source)
        read = await Person(api, KUBELET).ask("GET", f"{HERE}/secrets/key")
        assert read.status == (404 if is_read else 403)


async def test_a_claim_that_names_the_volume_of_another_gives_a_kubelet_no_secret() -> None:
    async with guarded() as api:
        volumes = [{"name": "a", "persistentVolumeClaim": {"claimName": "greedy"}}]
        mine = a_pod("mine", "node-a", volumes=volumes)
        assert (await api.ask("POST", f"{HERE}/pods", mine)).status == 201
        await make_volume(api, "theirs")
        greedy = {
            "metadata": {"name": "greedy"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "volumeName": "theirs",
            },
        }
        path = f"{HERE}/persistentvolumeclaims"
        assert (await api.ask("POST", path, greedy)).status == 201
        read = await Person(api, KUBELET).ask("GET", f"{HERE}/secrets/theirs-of-driver")
        assert read.status == 403


async def test_a_kubelet_reads_the_secrets_of_shares_that_its_pods_mount() -> None:
    async with guarded() as api:
        volumes = [{"name": "a", "azureFile": {"shareName": "s", "secretName": "key"}}]
        assert (
            await api.ask("POST", f"{HERE}/pods", a_pod("mine", "node-a", volumes=volumes))
        ).status == 201
        assert (await Person(api, KUBELET).ask("GET", f"{HERE}/secrets/key")).status == 404


async def test_secrets_of_drivers_are_read_in_whatever_namespace_they_are() -> None:
    async with guarded() as api:
        volumes = [{"name": "a", "persistentVolumeClaim": {"claimName": "mine"}}]
        mine = a_pod("mine", "node-a", volumes=volumes)
        assert (await api.ask("POST", f"{HERE}/pods", mine)).status == 201
        await make_volume(api, "mine", secrets="kube-system")
        await make_volume(api, "theirs", secrets="kube-system")
        kubelet = Person(api, KUBELET)
        path = "/api/v1/namespaces/kube-system/secrets/{}-of-driver"
        assert (await kubelet.ask("GET", path.format("mine"))).status == 404
        assert (await kubelet.ask("GET", path.format("theirs"))).status == 403


async def test_resource_claims_are_read_for_pods_of_the_node() -> None:
    async with guarded() as api:
        claims = [{"name": "gpu", "resourceClaimName": "mine"}]
        mine = a_pod("mine", "node-a", resourceClaims=claims)
        assert (await api.ask("POST", f"{HERE}/pods", mine)).status == 201
        place = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
        kubelet = Person(api, KUBELET)

        assert (await kubelet.ask("GET", f"{place}/theirs")).status == 403
        # There is none of that name, which it may know.
        assert (await kubelet.ask("GET", f"{place}/mine")).status == 404


async def test_lists_are_for_one_node_or_one_object(kubelet: Api) -> None:
    assert (await kubelet.ask("GET", f"{HERE}/secrets")).status == 403
    named = await kubelet.ask("GET", f"{HERE}/secrets", fieldSelector="metadata.name=mine")
    assert named.status == 200
    assert (await kubelet.ask("GET", "/api/v1/pods")).status == 403
    mine = await kubelet.ask("GET", "/api/v1/pods", fieldSelector="spec.nodeName=node-a")
    assert mine.names == ["mine"]
    theirs = await kubelet.ask("GET", "/api/v1/pods", fieldSelector="spec.nodeName=node-b")
    assert theirs.status == 403


async def test_tokens_are_made_for_accounts_of_its_pods(kubelet: Api) -> None:
    accounts = f"{HERE}/serviceaccounts"
    pod = (await kubelet.ask("GET", f"{HERE}/pods/mine")).document["metadata"]
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "mine", "uid": pod["uid"]}
    asked = {"spec": {"boundObjectRef": bound}}
    assert (await kubelet.ask("POST", f"{accounts}/mine/token", asked)).status == 201
    assert (await kubelet.ask("POST", f"{accounts}/theirs/token", asked)).status == 403


async def test_a_kubelet_looks_after_its_own_node_and_lease(kubelet: Api) -> None:
    node = {"metadata": {"name": "node-a"}}
    assert (await kubelet.ask("POST", "/api/v1/nodes", node)).status == 201
    assert (await kubelet.ask("GET", "/api/v1/nodes/node-a")).status == 200
    assert (await kubelet.ask("GET", "/api/v1/nodes/node-b")).status == 403
    assert (await kubelet.ask("GET", "/api/v1/nodes")).status == 403
    assert (await kubelet.ask("DELETE", "/api/v1/nodes/node-a")).status == 403
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    assert (await kubelet.ask("POST", leases, node)).status == 201
    assert (await kubelet.ask("GET", f"{leases}/node-a")).status == 200
    assert (await kubelet.ask("GET", f"{leases}/node-b")).status == 403
    elsewhere = leases.replace("kube-node-lease", "default")
    assert (await kubelet.ask("GET", f"{elsewhere}/node-a")).status == 403


async def test_the_static_rules_of_nodes_hold_for_all_else(kubelet: Api) -> None:
    assert (await kubelet.ask("GET", "/api/v1/services")).status == 200
    assert (await kubelet.ask("GET", "/apis/storage.k8s.io/v1/csidrivers")).status == 200
    assert (await kubelet.ask("GET", "/apis/apps/v1/deployments")).status == 403


async def test_a_user_of_another_group_or_name_is_no_kubelet(kubelet: Api) -> None:
    for user in (
        User(name="system:node:node-a", groups=(AUTHENTICATED,)),
        User(name="node-a", groups=("system:nodes", AUTHENTICATED)),
        User(name="system:node:", groups=("system:nodes", AUTHENTICATED)),
    ):
        assert (await Person(kubelet, user).ask("GET", f"{HERE}/secrets/mine")).status == 403
