"""What exists in every cluster from its first moment on."""

from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.access.users import SERVER
from plimsoll.apiserver.http.requests import Target
from plimsoll.apiserver.model.definitions import snapshot_definitions
from plimsoll.apiserver.model.kinds.networking.service_network import ServiceNetwork
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.definitions import definition_status
from plimsoll.apiserver.storage.resource_kinds import kind_of
from plimsoll.apiserver.verbs.create import create
from plimsoll.apiserver.verbs.options.write_options import RequestWriteOptions
from plimsoll.apiserver.verbs.write import Write, typed

SERVICE = "kubernetes"
"""By which pods find the server."""
HTTPS = 443
SERVER_PORT = 6443
"""The server's port, as far as pods are told: what they would reach is the address of a service,
at which nothing answers here."""
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
DEFINITIONS = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")
CRITICAL = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def _server(network: ServiceNetwork) -> Document:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    port = {"name": "https", "port": HTTPS, "protocol": "TCP", "targetPort": SERVER_PORT}
    spec = {"clusterIP": network.server_address, "ports": [port], "ipFamilyPolicy": "SingleStack"}
    return {"metadata": {"name": SERVICE, "namespace": "default", "labels": labels}, "spec": spec}


def _first_objects(network: ServiceNetwork) -> list[tuple[tuple[str, str, str], Document]]:
    namespaces = [(("", "v1", "namespaces"), {"metadata": {"name": name}}) for name in NAMESPACES]
    classes = [
        (
            ("scheduling.k8s.io", "v1", "priorityclasses"),
            {
                "metadata": {"name": name},
                "value": value,
                "description": "Used for pods that the cluster cannot do without.",
            },
        )
        for name, value in CRITICAL.items()
    ]
    return [
        *namespaces,
        *classes,
        (("", "v1", "services"), _server(network)),
        *((DEFINITIONS, each) for each in snapshot_definitions()),
    ]


async def create_first_objects(cluster: StoredCluster) -> None:
    for path, body in _first_objects(cluster.service_network):
        resource = resources_by_path()[path]
        kind = kind_of(resource)
        meta = body["metadata"]
        target = Target(resource=resource, namespace=meta.get("namespace", ""), name=meta["name"])
        if cluster.collection(kind).newest(target.key) is not None:
            continue
        write = Write(
            cluster=cluster,
            kind=kind,
            target=target,
            options=RequestWriteOptions(),
            user=SERVER,
        )
        create(write, typed(kind, body))
    definition_status.refresh(cluster)
    await cluster.revisions.durable()
