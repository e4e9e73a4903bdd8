"""The table of kinds is complete and agrees with itself."""

from plimsoll.api.registry import all_resources, resources_by_kind, resources_by_path


def test_all_resources_of_the_api_are_known() -> None:
    assert len(all_resources()) == 71
    assert len(resources_by_path()) == 71


def test_a_resource_knows_its_names() -> None:
    classes = resources_by_path()["storage.k8s.io", "v1", "storageclasses"]
    assert classes.api_version == "storage.k8s.io/v1"
    assert classes.group_version_path == "apis/storage.k8s.io/v1"
    assert classes.qualified_name == "storageclasses.storage.k8s.io"
    assert (classes.namespaced, classes.short_names) == (False, ("sc",))
    pods = resources_by_kind()["", "v1", "Pod"]
    assert (pods.api_version, pods.group_version_path) == ("v1", "api/v1")
    assert (pods.qualified_name, pods.namespaced) == ("pods", True)


def test_a_subresource_is_found_by_its_name() -> None:
    pods = resources_by_path()["", "v1", "pods"]
    status = pods.subresource("status")
    assert status is not None
    assert "patch" in status.verbs
    assert pods.subresource("nothing") is None
