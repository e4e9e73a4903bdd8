from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.patch.errors import PatchError
from plimsoll.apiserver.model.patch import strategic

POD = "io.k8s.api.core.v1.Pod"
DEPLOYMENT = "io.k8s.api.apps.v1.Deployment"


def a_pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers), **spec}}


def names(pod: dict[str, Any], field: str = "containers") -> list[str]:
    return [element["name"] for element in pod["spec"][field]]


def test_list_element_with_the_same_key_is_merged() -> None:
    pod = a_pod({"name": "a", "image": "x:1"}, {"name": "b", "image": "y:1"})
    patched = strategic.apply(pod, {"spec": {"containers": [{"name": "b", "image": "y:2"}]}}, POD)
    assert patched["spec"]["containers"] == [
        {"name": "a", "image": "x:1"},
        {"name": "b", "image": "y:2"},
    ]


def test_new_element_goes_before_those_that_only_the_server_has() -> None:
    patched = strategic.apply(
        a_pod({"name": "a"}, {"name": "b"}), {"spec": {"containers": [{"name": "n"}]}}, POD
    )
    assert names(patched) == ["n", "a", "b"]


def test_patched_elements_keep_the_order_of_the_patch() -> None:
    pod = a_pod({"name": "a"}, {"name": "b"}, {"name": "c"})
    patched = strategic.apply(pod, {"spec": {"containers": [{"name": "c"}, {"name": "a"}]}}, POD)
    assert names(patched) == ["b", "c", "a"]


def test_deleted_element_goes() -> None:
    pod = a_pod({"name": "a"}, {"name": "b"})
    patch = {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}}
    assert names(strategic.apply(pod, patch, POD)) == ["b"]


def test_replace_directive_in_a_list_drops_the_stored_elements() -> None:
    pod = a_pod({"name": "a", "image": "x"}, {"name": "b"})
    patch = {"spec": {"containers": [{"$patch": "replace"}, {"name": "a"}]}}
    assert strategic.apply(pod, patch, POD)["spec"]["containers"] == [{"name": "a"}]


def test_atomic_list_is_replaced() -> None:
    pod = a_pod({"name": "a", "args": ["1", "2"]})
    patch = {"spec": {"containers": [{"name": "a", "args": ["3"]}]}}
    assert strategic.apply(pod, patch, POD)["spec"]["containers"] == [{"name": "a", "args": ["3"]}]


def test_finalizers_are_a_set() -> None:
    document = {"metadata": {"finalizers": ["a", "b"]}}
    patched = strategic.apply(document, {"metadata": {"finalizers": ["b", "c"]}}, POD)
    assert patched["metadata"]["finalizers"] == ["a", "b", "c"]
    patched = strategic.apply(
        document, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}, POD
    )
    assert patched["metadata"]["finalizers"] == ["b"]


def test_element_order_is_as_the_patch_sets_it() -> None:
    pod = a_pod({"name": "a"}, {"name": "b"}, {"name": "s"})
    patch = {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}
    assert names(strategic.apply(pod, patch, POD)) == ["b", "a", "s"]


def test_new_element_takes_the_place_of_a_deleted_one() -> None:
    pod = a_pod({"name": "a"}, {"name": "b"}, {"name": "s"})
    patch = {
        "spec": {
            "$setElementOrder/containers": [{"name": "b"}, {"name": "n"}],
            "containers": [{"name": "n"}, {"name": "a", "$patch": "delete"}],
        }
    }
    assert names(strategic.apply(pod, patch, POD)) == ["b", "s", "n"]


def test_retained_keys_are_the_only_ones_left() -> None:
    deployment = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    patched = strategic.apply(deployment, patch, DEPLOYMENT)
    assert patched["spec"]["strategy"] == {"type": "Recreate"}


def test_object_directives_replace_and_empty() -> None:
    pod = a_pod(nodeSelector={"a": "1", "b": "2"}, securityContext={"runAsUser": 1})
    patch = {
        "spec": {
            "nodeSelector": {"$patch": "replace", "c": "3"},
            "securityContext": {"$patch": "delete"},
        }
    }
    patched = strategic.apply(pod, patch, POD)["spec"]
    assert (patched["nodeSelector"], patched["securityContext"]) == ({"c": "3"}, {})


def test_directives_and_nulls_do_not_end_up_in_new_objects() -> None:
    patch = {
        "spec": {
            "affinity": {"podAffinity": {"$patch": "delete"}, "nodeAffinity": None},
            "dnsConfig": {"nameservers": ["1.1.1.1"], "options": None},
        }
    }
    patched = strategic.apply(a_pod(), patch, POD)["spec"]
    assert (patched["affinity"], patched["dnsConfig"]) == ({}, {"nameservers": ["1.1.1.1"]})


def test_nested_lists_inside_merged_elements_are_merged_too() -> None:
    pod = a_pod({"name": "a", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]})
    patch = {"spec": {"containers": [{"name": "a", "env": [{"name": "B", "value": "3"}]}]}}
    assert strategic.apply(pod, patch, POD)["spec"]["containers"][0]["env"] == [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "3"},
    ]


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"containers": [{"image": "x"}]}},
        {"spec": {"containers": [{"$patch": "delete"}]}},
        {"spec": {"containers": [{"name": "a", "$patch": "bogus"}]}},
        {"spec": {"containers": [{"name": "a", "$patch": "merge"}]}},
        {"spec": {"containers": ["a"]}},
        {"spec": {"containers": [["a"]]}},
        {"spec": {"containers": [{"name": {"x": 1}}]}},
        {"spec": {"$patch": "bogus"}},
        {"spec": {"$retainKeys": "containers"}},
        {"spec": {"$retainKeys": ["containers"], "nodeName": "n"}},
        {"spec": {"$setElementOrder/containers": {"name": "a"}}},
        {"spec": {"$setElementOrder/containers": False}},
        {"spec": {"$setElementOrder/containers": [], "containers": False}},
        {"spec": {"$setElementOrder/volumes": [], "volumes": False}},
        {"metadata": {"$setElementOrder/finalizers": [], "finalizers": ""}},
        {"spec": {"$setElementOrder": [{"name": "a"}]}},
        {"spec": {"$setElementOrder/containers": [{"image": "a"}]}},
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                "containers": [{"name": "a"}, {"name": "b"}],
            }
        },
        {"metadata": {"$deleteFromPrimitiveList": ["a"]}},
        {"metadata": {"finalizers": [1]}},
        "text",
        [1],
    ],
    ids=str,
)
def test_patch_that_cannot_be_understood_is_a_bad_request(patch: Any) -> None:
    pod = a_pod({"name": "a"}, {"name": "b"})
    pod["metadata"]["finalizers"] = ["x"]
    with pytest.raises(PatchError) as refused:
        strategic.apply(pod, patch, POD)
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")


def test_no_patch_changes_nothing() -> None:
    assert strategic.apply(a_pod(), None, POD) == a_pod()


def test_kind_without_schema_has_no_strategic_patches() -> None:
    with pytest.raises(PatchError):
        strategic.apply({}, {}, "com.example.v1.Widget")


def test_nesting_is_bounded() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for document, patch in ((deep, {}), ({}, deep)):
        with pytest.raises(PatchError):
            strategic.apply(document, patch, POD)


ELEMENTS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["a", "b", "c", 1, None]),
        "image": st.sampled_from(["x", "y", None]),
        "$patch": st.sampled_from(["delete", "replace", "merge"]),
        "env": st.lists(st.fixed_dictionaries({"name": st.sampled_from("ab")}), max_size=2),
    },
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "containers": st.lists(ELEMENTS, max_size=4) | st.none(),
        "nodeSelector": st.dictionaries(st.sampled_from("ab"), st.sampled_from("12"), max_size=2),
        "$setElementOrder/containers": st.lists(ELEMENTS, max_size=3),
        "$retainKeys": st.lists(st.sampled_from(["containers", "nodeSelector"]), max_size=2),
        "$patch": st.sampled_from(["replace", "delete", "x"]),
    },
)


@given(current=st.lists(st.sampled_from("abc"), unique=True), spec=SPECS)
def test_any_patch_is_applied_or_refused_and_never_touches_its_arguments(
    current: list[str], spec: dict[str, Any]
) -> None:
    pod, patch = a_pod(*({"name": name} for name in current)), {"spec": spec}
    pod_before, patch_before = deepcopy(pod), deepcopy(patch)
    with suppress(PatchError):
        strategic.apply(pod, patch, POD)
    assert (pod, patch) == (pod_before, patch_before)


@given(
    current=st.lists(st.sampled_from("abcdef"), unique=True),
    wanted=st.lists(st.sampled_from("abcdef"), unique=True),
)
def test_merging_keeps_every_element_once_and_both_orders(
    current: list[str], wanted: list[str]
) -> None:
    pod = a_pod(*({"name": name} for name in current))
    patch = {"spec": {"containers": [{"name": name} for name in wanted]}}
    merged = names(strategic.apply(pod, patch, POD))
    assert sorted(merged) == sorted(set(current) | set(wanted))
    assert [name for name in merged if name in wanted] == wanted
    untouched = [name for name in current if name not in wanted]
    assert [name for name in merged if name not in wanted] == untouched
