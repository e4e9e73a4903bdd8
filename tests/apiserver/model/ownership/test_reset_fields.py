from plimsoll.api.registry import Resource, resources_by_kind
from plimsoll.apiserver.model.ownership.reset_fields import reset_fields


def the(group: str, kind: str) -> Resource:
    return resources_by_kind()[group, "v1", kind]


def test_the_object_leaves_the_status_alone_and_the_status_the_spec() -> None:
    claim = the("", "PersistentVolumeClaim")
    assert reset_fields(claim, "") == {"f:status": {}}
    assert reset_fields(claim, "status") == {"f:spec": {}}


def test_some_kinds_do_not_take_metadata_with_their_status() -> None:
    attachment = the("storage.k8s.io", "VolumeAttachment")
    assert reset_fields(attachment, "status") == {"f:spec": {}, "f:metadata": {}}


def test_a_kind_without_status_resets_nothing() -> None:
    assert reset_fields(the("storage.k8s.io", "StorageClass"), "") == {}
