"""Whatever connects a client with a container: logs, exec, attach, port-forward, proxy."""

from plimsoll.api.registry import resources_by_path
from plimsoll.apiserver.http.answers import Answer
from plimsoll.apiserver.model.kinds.pods.no_containers import WANTED, no_containers, no_host
from plimsoll.apiserver.model.status import bad_request
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.resource_kinds import kind_of
from plimsoll.apiserver.verbs.read import ReadRequest, get

CONNECTIONS = frozenset(WANTED)


def answer_connect(request: ReadRequest) -> Answer:
    """Raises 400 that says why there is no connection, and 404 for an object that is not there."""
    found, target = get(request).document(), request.target
    if target.resource.kind != "Pod":
        raise bad_request(
            f"no containers run here: {target.resource.singular} {target.name} has "
            f"{WANTED[target.subresource]}"
        )
    if found["spec"].get("nodeName"):
        claims = _VolumeNames(request.cluster, target.namespace)
        raise no_containers(found, target.subresource, claims)
    if target.subresource == "log":
        return Answer(status=204, content_type="")
    raise no_host(found)


class _VolumeNames:
    def __init__(self, cluster: StoredCluster, namespace: str) -> None:
        self._claims = cluster.collection(
            kind_of(resources_by_path()["", "v1", "persistentvolumeclaims"])
        )
        self._namespace = namespace

    def __call__(self, claim: str) -> str:
        record = self._claims.get(f"{self._namespace}/{claim}")
        bound: str = "" if record is None else record.document()["spec"].get("volumeName", "")
        return bound
