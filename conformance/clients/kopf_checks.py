"""kopf with a small operator on a cluster of ours: it works, is stopped, and goes on."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from conformance import python_peers
from conformance.clients.cluster import ClientCluster, client_cluster, condition
from conformance.programs import running, wait_for_line
from plimsoll.api.registry import Document

Say = Callable[[str], None]
NAMESPACE = "harbour"
OPERATOR = Path(__file__).with_name("kopf_operator.py")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MOORINGS = f"/apis/example.com/v1/namespaces/{NAMESPACE}/moorings"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
READY = "Initial authentication has finished"
SCHEMA: Document = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "string"}, "rope": {"type": "string"}},
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
DEFINITION: Document = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "moorings.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "moorings", "singular": "mooring", "kind": "Mooring"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": SCHEMA},
            }
        ],
    },
}


def run(say: Say) -> None:
    """Raises AssertionError when the operator does not do its part."""
    python_peers.directory()
    with client_cluster() as cluster:
        _define(cluster)
        with _operator(cluster, "first"):
            say(f"kopf {python_peers.version('kopf')}: a claim is created, the status written")
            _created(cluster, "a")
            say("a field that changes is told with its old value")
            cluster.patch(f"{MOORINGS}/a", {"spec": {"rope": "steel"}})
            _status(cluster, "a", "rope", "hemp then steel")
        say("while the operator is away, one object changes and one is created")
        cluster.patch(f"{MOORINGS}/a", {"spec": {"rope": "chain"}})
        _create(cluster, "b")
        with _operator(cluster, "second"):
            say("after a restart it resumes, and catches up with both")
            _status(cluster, "a", "resumed", 1)
            _status(cluster, "a", "rope", "steel then chain")
            _created(cluster, "b", is_there=True)
        say("a finalizer keeps a deleted object until the operator is back")
        _deleted_while_away(cluster)
        with _operator(cluster, "third"):
            cluster.wait_gone(f"{MOORINGS}/a")
        farewell = cluster.find(f"{CORE}/configmaps/farewell")
        assert farewell, "the handler of the deletion did not run"
        assert farewell["data"] == {"of": "a"}
        say("the child goes with its owner, and only that one")
        cluster.wait_gone(f"{CORE}/persistentvolumeclaims/a-data")
        assert cluster.find(f"{CORE}/persistentvolumeclaims/b-data")


def _define(cluster: ClientCluster) -> None:
    cluster.create(DEFINITIONS, DEFINITION)
    path = f"{DEFINITIONS}/moorings.example.com"
    cluster.wait("definition", path, lambda found: condition(found, "Established") == "True")
    cluster.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})


@contextlib.contextmanager
def _operator(cluster: ClientCluster, name: str) -> Iterator[None]:
    """`kopf run` in the namespace; it must end by itself when it is asked to."""
    command = [str(python_peers.directory() / "bin" / "kopf"), "run", f"--namespace={NAMESPACE}"]
    environment = {**os.environ, "KUBECONFIG": str(cluster.endpoint.kubeconfig)}
    log = cluster.directory / f"kopf-{name}.log"
    try:
        with running([*command, str(OPERATOR)], log, environment) as process:
            wait_for_line(process, log, READY)
            yield
    except AssertionError as error:
        said = "\n".join(log.read_text(errors="replace").splitlines()[-12:])
        raise AssertionError(f"{error}\nkopf said: {said}") from error
    assert process.returncode == 0, f"kopf ended with {process.returncode}"


def _create(cluster: ClientCluster, name: str) -> None:
    spec = {"size": "64Mi", "rope": "hemp"}
    called = {"apiVersion": "example.com/v1", "kind": "Mooring"}
    cluster.create(MOORINGS, called | {"metadata": {"name": name}, "spec": spec})


def _created(cluster: ClientCluster, name: str, *, is_there: bool = False) -> None:
    if not is_there:
        _create(cluster, name)
    mooring = _status(cluster, name, "created", {"claim": f"{name}-data"})
    assert mooring["metadata"]["finalizers"] == [FINALIZER], mooring["metadata"]
    claim = cluster.find(f"{CORE}/persistentvolumeclaims/{name}-data")
    assert claim, f"{name}-data was not created"
    [owner] = claim["metadata"]["ownerReferences"]
    assert owner["uid"] == mooring["metadata"]["uid"]


def _status(cluster: ClientCluster, name: str, field: str, wanted: object) -> Document:
    return cluster.wait(
        f"{field} {wanted} of {name}",
        f"{MOORINGS}/{name}",
        lambda found: found.get("status", {}).get(field) == wanted,
    )


def _deleted_while_away(cluster: ClientCluster) -> None:
    cluster.delete(f"{MOORINGS}/a")
    kept = cluster.find(f"{MOORINGS}/a")
    assert kept, "it was deleted in spite of its finalizer"
    assert kept["metadata"]["deletionTimestamp"]
    assert cluster.find(f"{CORE}/persistentvolumeclaims/a-data")
