"""The users of a local cluster's parts may do what they need, and no more."""

from collections.abc import AsyncIterator
from random import Random

import pytest

from plimsoll.apiserver.access.users import AUTHENTICATED, User
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.ui.local_cluster.access import identities
from plimsoll.ui.local_cluster.access.identities import PartIdentity
from plimsoll.ui.local_cluster.objects import NAMESPACE
from plimsoll.ui.local_cluster.preparing import write_roles
from plimsoll.wire.kube import KubeClient
from tests.apiserver.access.people import RBAC, Person, guarded
from tests.apiserver.api import Api

PROVISIONER, NODE = identities.provisioner("local.plimsoll.dev"), identities.node("node-0")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
SECRETS = "/api/v1/namespaces/{}/secrets"
CLAIMS = "/api/v1/persistentvolumeclaims"
SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1/namespaces/default/volumesnapshots"
ROLES = f"{RBAC}/clusterroles"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with guarded() as api:
        home = {"metadata": {"name": NAMESPACE}}
        assert (await api.ask("POST", "/api/v1/namespaces", home)).status == 201
        await write_roles(_client(api))
        yield api


def _client(api: Api) -> KubeClient:
    return KubeClient(
        InProcessTransport(api.server), clock=api.server.cluster.clock, chance=Random(1)
    )


def part(api: Api, identity: PartIdentity) -> Person:
    return Person(api, User(name=identity.user, groups=(*identity.groups, AUTHENTICATED)))


@pytest.mark.parametrize(
    ("identity", "path"),
    [
        (identities.SCHEDULER, LEASES.format(NAMESPACE)),
        (identities.SCHEDULER, "/api/v1/events"),
        (identities.CONTROLLER, LEASES.format("kube-system")),
        (identities.CONTROLLER, "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"),
        (PROVISIONER, LEASES.format(NAMESPACE)),
        (PROVISIONER, CLAIMS),
        (NODE, CLAIMS),
        (NODE, "/apis/storage.k8s.io/v1/volumeattachments"),
        (identities.HOLLOW, "/api/v1/nodes"),
        (identities.HOLLOW, CLAIMS),
    ],
)
async def test_a_part_lists_what_it_watches(api: Api, identity: PartIdentity, path: str) -> None:
    assert (await part(api, identity).ask("GET", path)).status == 200


@pytest.mark.parametrize(
    ("identity", "path"),
    [
        (identities.SCHEDULER, SECRETS.format("default")),
        (identities.SCHEDULER, ROLES),
        (PROVISIONER, SECRETS.format(NAMESPACE)),
        (PROVISIONER, LEASES.format("kube-system")),
        (PROVISIONER, "/api/v1/pods"),
        (NODE, SECRETS.format("default")),
        (NODE, "/api/v1/nodes"),
        (NODE, LEASES.format(NAMESPACE)),
    ],
)
async def test_a_part_lists_nothing_else(api: Api, identity: PartIdentity, path: str) -> None:
    assert (await part(api, identity).ask("GET", path)).status == 403


@pytest.mark.parametrize(
    "identity", [identities.SCHEDULER, identities.CONTROLLER, PROVISIONER, NODE, identities.HOLLOW]
)
async def test_no_part_gives_itself_rights(api: Api, identity: PartIdentity) -> None:
    more = {
        "metadata": {"name": "more"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"kind": "User", "name": identity.user}],
    }
    reply = await part(api, identity).ask("POST", f"{RBAC}/clusterrolebindings", more)
    assert reply.status == 403


async def test_a_provisioner_reads_secrets_by_name_in_its_own_namespace_alone(api: Api) -> None:
    provisioner = part(api, PROVISIONER)
    assert (await provisioner.ask("GET", f"{SECRETS.format(NAMESPACE)}/s")).status == 404
    assert (await provisioner.ask("GET", f"{SECRETS.format('default')}/s")).status == 403


async def test_a_provisioner_keeps_a_snapshot_while_a_volume_is_restored_from_it(api: Api) -> None:
    """It replaces the object, as csi-provisioner does."""
    source = {"source": {"persistentVolumeClaimName": "data"}}
    monday = {"metadata": {"name": "monday"}, "spec": source}
    held = (await api.ask("POST", SNAPSHOTS, monday)).document
    held["metadata"]["finalizers"] = ["example.com/source"]

    reply = await part(api, PROVISIONER).ask("PUT", f"{SNAPSHOTS}/monday", held)

    assert reply.status == 200


async def test_roles_of_an_older_version_get_the_rules_of_this_one(api: Api) -> None:
    role = f"{ROLES}/plimsoll:scheduler"
    held = (await api.ask("GET", role)).document
    older = held | {"rules": []}
    assert (await api.ask("PUT", role, older)).status == 200
    await write_roles(_client(api))
    assert (await api.ask("GET", role)).document["rules"] == held["rules"]
