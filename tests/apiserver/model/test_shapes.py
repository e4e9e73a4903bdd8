import pytest

from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.scalars import SchemaError
from plimsoll.apiserver.model.shapes import is_opaque, shapes, struct

CORE = "io.k8s.api.core.v1"


def test_the_shapes_speak_of_fields_that_the_schemas_have() -> None:
    for name, fields in shapes().items():
        assert set(fields) <= set(definitions().schemas[name]["properties"])


def test_kinds_newer_than_the_shapes_are_read_by_their_schema() -> None:
    assert struct("io.k8s.api.storage.v1.CSINode").convert({}, [])["status"] == {}


@pytest.mark.parametrize(
    ("schema", "empty"),
    [
        pytest.param(
            f"{CORE}.ResourceFieldSelector", {"resource": "", "divisor": "0"}, id="amount"
        ),
        pytest.param(f"{CORE}.HTTPGetAction", {"port": 0}, id="number-or-name"),
        pytest.param("io.k8s.api.apps.v1.ControllerRevision", None, id="opaque"),
        pytest.param("io.k8s.api.rbac.v1.Role", {"metadata": {}, "rules": None}, id="list"),
        pytest.param(f"{CORE}.NodeSpec", {}, id="nothing"),
    ],
)
def test_absent_fields_have_the_zero_value_of_their_type(
    schema: str, empty: dict[str, object] | None
) -> None:
    expected = empty if empty is not None else {"metadata": {}, "data": None, "revision": 0}
    assert struct(schema).zero() == expected


def test_zero_values_are_not_shared() -> None:
    pod = struct(f"{CORE}.Pod")
    first, second = pod.zero(), pod.zero()
    first["metadata"]["name"] = "a"

    assert second["metadata"] == {}


def test_names_of_unknown_fields_are_noted() -> None:
    noted: list[str] = []
    struct(f"{CORE}.Pod").convert({"spec": {"containers": [{"nope": 1}]}, "Spec": {}}, noted)

    assert noted == ["nope", "Spec"]


def test_lists_and_maps_must_be_lists_and_maps() -> None:
    meta = struct("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    with pytest.raises(SchemaError, match=r"ObjectMeta.labels of type map\[string\]string"):
        meta.convert({"labels": ["a"]}, [])
    with pytest.raises(SchemaError, match=r"ObjectMeta.finalizers of type \[\]string"):
        meta.convert({"finalizers": {"a": "b"}}, [])


def test_quantities_are_opaque_and_pods_are_not() -> None:
    assert is_opaque("io.k8s.apimachinery.pkg.api.resource.Quantity")
    assert not is_opaque(f"{CORE}.Pod")
