from plimsoll.apiserver.model.ownership.compiled_schema import compiled, tracked

DEFINITION = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"


def test_names_and_versions_of_an_object_belong_to_no_manager() -> None:
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}},
    }
    changed, _ = tracked("io.k8s.api.core.v1.Pod").compare({"metadata": {}}, pod)
    assert changed == {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}


def test_the_name_in_a_template_is_a_field_like_any_other() -> None:
    template = {"spec": {"template": {"metadata": {"name": "a"}}}}
    changed, _ = tracked("io.k8s.api.apps.v1.StatefulSet").compare({"spec": {}}, template)
    assert changed == {"f:spec": {"f:template": {".": {}, "f:metadata": {".": {}, "f:name": {}}}}}


def test_schemas_that_contain_themselves_can_be_owned() -> None:
    schema = {"openAPIV3Schema": {"properties": {"a": {"properties": {"b": {"type": "string"}}}}}}
    versions = {"spec": {"versions": [{"name": "v1", "schema": schema}]}}
    assert compiled(DEFINITION).added(versions)["f:spec"]["f:versions"] == {}
