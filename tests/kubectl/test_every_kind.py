"""The life of an object at a user's desk, for every kind that users of storage write."""

from typing import Any

import pytest

from tests.kubectl.command import Kubectl
from tests.kubectl.manifests import EXAMPLES, Example

NAMES = [example.kind for example in EXAMPLES]


def kept(wanted: Any, found: Any) -> bool:
    """Whether all that was asked for is there; defaults may have joined it."""
    if isinstance(wanted, dict):
        return all(key in found and kept(value, found[key]) for key, value in wanted.items())
    if isinstance(wanted, list):
        return len(wanted) == len(found) and all(map(kept, wanted, found))
    return bool(wanted == found)


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_an_applied_object_is_shown_in_every_form(example: Example, kubectl: Kubectl) -> None:
    name = f"{kubectl.namespace}-one"
    manifest = example.named(name)

    assert kubectl("apply", "-f", "-", stdin=manifest).rstrip().endswith("created")
    again = kubectl("apply", "-f", "-", stdin=manifest)
    assert again.rstrip().endswith(example.applied_again)

    heading, row = kubectl("get", example.plural, name, "-o", "wide").splitlines()
    assert all(column in heading for column in example.columns), heading
    assert row.startswith(name)
    assert kept(manifest, kubectl.json("get", example.plural, name))
    assert f"name: {name}" in kubectl("get", example.plural, name, "-o", "yaml")
    assert kubectl("get", example.plural, "-l", "app=storage", "-o", "name").count(name) == 1


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_an_object_is_described(example: Example, kubectl: Kubectl) -> None:
    if kubectl.minor_version() < example.described_since:
        pytest.skip("this kubectl describes it through an API version that is gone")
    name = f"{kubectl.namespace}-one"
    kubectl("create", "-f", "-", stdin=example.named(name))
    described = kubectl("describe", example.plural, name)
    assert all(word in described for word in (name, *example.described)), described


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_an_object_is_changed_and_deleted(example: Example, kubectl: Kubectl) -> None:
    name = f"{kubectl.namespace}-one"
    kubectl("create", "-f", "-", stdin=example.named(name))

    kubectl("label", example.plural, name, "tier=gold")
    kubectl("annotate", example.plural, name, "note=a long story")
    kubectl("patch", example.plural, name, "-p", '{"metadata":{"labels":{"app":null}}}')
    found = kubectl.json("get", example.plural, name)["metadata"]
    assert found["labels"] == {"tier": "gold"}
    assert found["annotations"]["note"] == "a long story"

    # Claims and volumes keep their protection finalizer until a controller takes it away.
    kubectl("patch", example.plural, name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert "deleted" in kubectl("delete", example.plural, name, "--timeout=20s")
    assert "NotFound" in kubectl.refused("get", example.plural, name)


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_a_kind_is_explained(example: Example, kubectl: Kubectl) -> None:
    explained = kubectl("explain", example.plural)
    assert f"KIND:       {example.kind}" in explained
    assert "metadata" in explained
    assert "FIELDS:" in explained
