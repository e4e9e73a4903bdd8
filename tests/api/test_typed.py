import msgspec
import pytest

from plimsoll.api.core import Secret
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.registry import resources_by_kind
from plimsoll.api.typed import TYPES, decode, from_document
from tests.builders import a_pod, document

SNAPSHOT_GROUP = "snapshot.storage.k8s.io"


def test_every_type_belongs_to_a_kind_that_the_server_knows() -> None:
    known = set(resources_by_kind())
    assert {gvk for gvk in TYPES if gvk[0] != SNAPSHOT_GROUP} <= known


@pytest.mark.parametrize("type_", TYPES.values(), ids=lambda type_: type_.__name__)
def test_every_type_reads_an_object_that_says_nothing(type_: type[ApiObject]) -> None:
    assert decode(type_, b'{"metadata":{"name":"a"}}').name == "a"


NULLS = b"""{
    "metadata": {"name": "a", "labels": null, "finalizers": null, "creationTimestamp": null},
    "spec": {"containers": [{"name": "main", "ports": null, "resources": null}], "volumes": null},
    "status": null
}"""


def test_null_reads_as_if_the_field_were_missing() -> None:
    pod = decode(Pod, NULLS)
    assert pod == from_document(Pod, msgspec.json.decode(NULLS))
    assert pod.labels == {}
    assert pod.metadata.finalizers == ()
    assert pod.spec.volumes == ()
    assert pod.spec.containers[0].ports == ()
    assert pod.status.phase == ""


def test_null_beside_the_data_of_a_secret_does_no_harm() -> None:
    raw = b'{"metadata":{"name":"a","labels":null},"data":{"key":"dmFsdWU="}}'
    assert decode(Secret, raw).data == {"key": b"value"}


def test_fields_that_we_do_not_model_are_skipped() -> None:
    assert decode(Pod, b'{"spec":{"dnsPolicy":"None","nodeName":"n"}}').spec.node_name == "n"


def test_a_wrong_type_is_an_error_that_names_the_field() -> None:
    with pytest.raises(msgspec.DecodeError, match=r"spec\.nodeName"):
        decode(Pod, b'{"spec":{"nodeName":5}}')


def test_a_document_reads_back_as_the_object_it_was_made_of() -> None:
    pod = a_pod(claims=["data"], requests={"cpu": "1"}, labels={"app": "web"})
    assert from_document(Pod, document(pod)) == pod
    assert document(pod)["apiVersion"] == "v1"
