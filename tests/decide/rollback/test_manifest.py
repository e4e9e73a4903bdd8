"""What a claim is made anew from."""

import msgspec
import pytest

from plimsoll.api.meta import OwnerReference
from plimsoll.api.registry import Document
from plimsoll.decide.rollback.manifest import claim_manifest, is_left_to_controller
from tests.decide.rollback.unused import a_waiting_pod, an_unused_claim, with_metadata

WRITTEN_BY_USER: Document = {
    "name": "data",
    "namespace": "default",
    "labels": {"app": "web"},
    "ownerReferences": [{"kind": "Backup", "uid": "u"}],
    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "mine": "1"},
}
SPEC: Document = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "newField": 1}


def test_what_came_of_the_claim_is_left_out_and_what_a_user_wrote_is_kept() -> None:
    came: Document = {
        "uid": "old",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{}],
        "finalizers": ["kubernetes.io/pvc-protection"],
        "annotations": WRITTEN_BY_USER["annotations"]
        | {
            "pv.kubernetes.io/bind-completed": "yes",
            "pv.kubernetes.io/bound-by-controller": "yes",
            "volume.kubernetes.io/selected-node": "node-a",
            "volume.kubernetes.io/storage-provisioner": "d",
            "volume.beta.kubernetes.io/storage-provisioner": "d",
            "plimsoll.dev/rolling-back": "r",
            "plimsoll.dev/rolled-back": "{}",
            "plimsoll.dev/hold": "uid/1/make",
        },
    }
    claim = {
        "metadata": WRITTEN_BY_USER | came,
        "spec": SPEC | {"volumeName": "pvc-old"},
        "status": {"phase": "Bound"},
    }
    assert claim_manifest(claim) == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": WRITTEN_BY_USER,
        "spec": SPEC,
    }


@pytest.mark.parametrize(
    ("claim_name", "volume_name", "owner", "is_left"),
    [
        pytest.param("data-web-0", "data", "StatefulSet", True, id="of a template"),
        pytest.param("data", "data", "StatefulSet", False, id="named by the user"),
        pytest.param("data-web-0", "data", "ReplicaSet", False, id="of another owner"),
        pytest.param("data-web-0", "data", "", False, id="of a bare pod"),
    ],
)
def test_a_claim_of_a_template_is_left_to_its_controller(
    claim_name: str, volume_name: str, owner: str, *, is_left: bool
) -> None:
    pod = a_waiting_pod(owner=owner, claim=claim_name)
    renamed = msgspec.structs.replace(pod.spec.volumes[0], name=volume_name)
    spec = msgspec.structs.replace(pod.spec, volumes=(renamed,))
    pod = msgspec.structs.replace(pod, spec=spec)
    assert is_left_to_controller(an_unused_claim(claim_name), pod) is is_left


def test_the_claim_of_an_ephemeral_volume_is_left_to_its_controller() -> None:
    owner = OwnerReference(api_version="v1", kind="Pod", name="web-0", uid="u", controller=True)
    claim = with_metadata(an_unused_claim(), owner_references=(owner,))
    assert is_left_to_controller(claim, a_waiting_pod(owner=""))
