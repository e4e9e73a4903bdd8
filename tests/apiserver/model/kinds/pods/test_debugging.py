from datetime import UTC, datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.debugging import (
    ephemeral_container_errors,
    prepare_ephemeral_containers,
)

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def test_only_ephemeral_containers_are_taken_from_the_client() -> None:
    old: Document = {"metadata": {}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}
    new: Document = {"metadata": {}, "spec": {"ephemeralContainers": [{"name": "e"}]}, "status": {}}
    prepare_ephemeral_containers(new, old, NOW)
    assert new["spec"] == {"nodeName": "n1", "ephemeralContainers": [{"name": "e"}]}
    assert new["status"] == {"phase": "Running"}


def test_static_pods_have_none() -> None:
    pod = {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}, "spec": {}}
    (error,) = ephemeral_container_errors(pod, pod)
    assert error.detail == "static pods do not support ephemeral containers"
