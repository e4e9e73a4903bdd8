from plimsoll.decide.workloads.owned import STATEFUL_SET, controller_reference
from plimsoll.decide.workloads.pod_template import (
    data_hash,
    go_json,
    named,
    normal,
    pod_from_template,
    template_hash,
)
from plimsoll.decide.workloads.revisions import revision_data
from tests.decide.workloads.objects import a_stateful_set, template

OWNER = controller_reference(STATEFUL_SET, a_stateful_set())


def test_a_pod_has_everything_that_its_template_says() -> None:
    given = template(tolerations=[{"key": "x"}]) | {
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["e/f"]}
    }
    pod = pod_from_template(given, "default", OWNER)
    assert pod["spec"] == given["spec"]
    assert pod["spec"] is not given["spec"]
    metadata = pod["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"a": "b"}, {"c": "d"})
    assert metadata["finalizers"] == ["e/f"]
    assert metadata["ownerReferences"][0]["name"] == "web"


def test_names_are_cut_as_the_server_cuts_generated_ones() -> None:
    pod = named(pod_from_template(template(), "default", OWNER), "x" * 70 + "-", "abcde")
    assert pod["metadata"]["name"] == "x" * 58 + "abcde"
    assert pod["metadata"]["generateName"] == "x" * 70 + "-"


def test_revisions_are_named_as_by_kube_controller_manager() -> None:
    """Computed with Go's encoding/json and hash/fnv from the same data."""
    given = template()
    given["spec"]["containers"][0]["command"] = ["a && b > c"]
    assert data_hash(revision_data(given), 0) == "c95d77c7b"
    assert data_hash(revision_data(given), 1) == "c95d77c7c"


def test_the_order_of_fields_does_not_matter_their_values_do() -> None:
    one, other = {"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}
    assert template_hash(one, None) == template_hash(other, None)
    assert template_hash(one, None) != template_hash(one, 1)
    assert template_hash(one, None) != template_hash({"a": 2}, None)


def test_json_is_escaped_as_go_does_it() -> None:
    assert go_json({"b": "<&>", "a": "\u2028"}) == rb'{"a":"\u2028","b":"\u003c\u0026\u003e"}'


def test_nulls_say_nothing_but_empty_selectors_do() -> None:
    assert normal({"a": None, "b": [{"c": None}], "d": {}}) == {"b": [{}], "d": {}}
