import pytest

from plimsoll.apiserver.model.ownership.compiled_schema import compiled
from plimsoll.apiserver.model.ownership.typed_paths import ShapeError, UnkeyedError

POD = compiled("io.k8s.api.core.v1.Pod")
VOLUME = compiled("io.k8s.api.core.v1.PersistentVolume")
SERVICE = compiled("io.k8s.api.core.v1.Service")


def test_containers_go_by_name() -> None:
    spec = {"containers": [{"name": "c", "image": "x"}]}
    assert POD.added({"spec": spec})["f:spec"]["f:containers"] == {
        ".": {},
        'k:{"name":"c"}': {".": {}, "f:name": {}, "f:image": {}},
    }


def test_keys_that_are_left_out_have_their_default() -> None:
    ports = SERVICE.added({"spec": {"ports": [{"port": 80}]}})["f:spec"]["f:ports"]
    assert ports == {".": {}, 'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}


def test_finalizers_go_by_value() -> None:
    metadata = POD.added({"metadata": {"finalizers": ["a/b"]}})["f:metadata"]
    assert metadata["f:finalizers"] == {".": {}, 'v:"a/b"': {}}


def test_characters_that_matter_in_html_are_escaped_in_keys() -> None:
    metadata = POD.added({"metadata": {"finalizers": ["<"]}})["f:metadata"]
    assert 'v:"\\u003c"' in metadata["f:finalizers"]


def test_atomic_lists_and_objects_are_owned_as_a_whole() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "nodeAffinity": {"required": {"x": 1}}}
    assert VOLUME.added({"spec": spec})["f:spec"] == {
        ".": {},
        "f:accessModes": {},
        "f:nodeAffinity": {".": {}, "f:required": {}},
    }


def test_a_reference_that_says_so_is_not_atomic() -> None:
    """Elsewhere an ObjectReference is; the claim of a volume is written by several managers."""
    spec = {"claimRef": {"name": "data"}}
    assert VOLUME.added({"spec": spec})["f:spec"]["f:claimRef"] == {".": {}, "f:name": {}}


def test_only_what_differs_is_changed() -> None:
    old = {"spec": {"containers": [{"name": "c", "image": "x"}, {"name": "d", "image": "x"}]}}
    new = {"spec": {"containers": [{"name": "d", "image": "y"}, {"name": "c", "image": "x"}]}}
    changed, removed = POD.compare(old, new)
    assert changed == {"f:spec": {"f:containers": {'k:{"name":"d"}': {"f:image": {}}}}}
    assert removed is None


def test_what_is_gone_is_gone_with_everything_in_it() -> None:
    changed, removed = POD.compare({"metadata": {"labels": {"a": "1"}}}, {"metadata": {}})
    assert changed is None
    assert removed == {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}


def test_elements_with_the_same_keys_are_owned_together() -> None:
    once = {"spec": {"containers": [{"name": "c", "image": "x"}]}}
    twice = {"spec": {"containers": [{"name": "c"}, {"name": "c"}]}}
    changed, removed = POD.compare(once, twice)
    assert changed == {"f:spec": {"f:containers": {'k:{"name":"c"}': {}}}}
    assert removed is not None
    assert "f:image" in removed["f:spec"]["f:containers"]['k:{"name":"c"}']


def test_an_element_without_keys_has_no_path() -> None:
    with pytest.raises(UnkeyedError):
        POD.added({"spec": {"containers": ["c"]}})


@pytest.mark.parametrize("spec", [1, "text", [1], {"containers": 1}, {"containers": {"a": 1}}])
def test_fields_of_values_that_have_another_type_cannot_be_told(spec: object) -> None:
    fits = {"spec": {"containers": [{"name": "c"}]}}
    with pytest.raises(ShapeError):
        POD.added({"spec": spec})
    with pytest.raises(ShapeError):
        POD.compare({"spec": spec}, fits)
    with pytest.raises(ShapeError):
        POD.compare(fits, {"spec": spec})
