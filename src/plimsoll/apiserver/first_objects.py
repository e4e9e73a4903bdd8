"""What exists in every cluster from its first moment on."""

from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.http.identity import User
from plimsoll.apiserver.http.requests import Target
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.resource_kinds import kind_of
from plimsoll.apiserver.verbs.create import create
from plimsoll.apiserver.verbs.options.write_options import RequestWriteOptions
from plimsoll.apiserver.verbs.write import Write, typed

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
CRITICAL = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def _first_objects() -> list[tuple[tuple[str, str, str], Document]]:
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
    return [*namespaces, *classes]


async def create_first_objects(cluster: StoredCluster) -> None:
    for path, body in _first_objects():
        resource = resources_by_path()[path]
        kind = kind_of(resource)
        target = Target(resource=resource)
        if cluster.collection(kind).newest(body["metadata"]["name"]) is not None:
            continue
        write = Write(
            cluster=cluster,
            kind=kind,
            target=target,
            options=RequestWriteOptions(),
            user=User(name="system:apiserver"),
        )
        create(write, typed(kind, body))
    await cluster.revisions.durable()
