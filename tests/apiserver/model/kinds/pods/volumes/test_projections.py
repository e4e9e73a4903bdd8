from collections import Counter
from typing import Any

import pytest

from plimsoll.apiserver.model.kinds.pods.volumes.projections import (
    downward_file_errors,
    projected_errors,
)
from tests.apiserver.model.kinds.pods.objects import causes

LABELS = {"apiVersion": "v1", "fieldPath": "metadata.labels"}


def found(**file: Any) -> Counter[tuple[str, str]]:
    return causes(downward_file_errors([{"path": "f"} | file], "d"))


def test_a_file_shows_fields_or_resources_of_the_pod() -> None:
    assert not found(fieldRef=LABELS)
    assert not found(resourceFieldRef={"containerName": "c", "resource": "limits.hugepages-2Mi"})


@pytest.mark.parametrize(
    ("file", "refused"),
    [
        pytest.param({"path": "", "fieldRef": LABELS}, ("Required", "d.path"), id="no-path"),
        pytest.param({"mode": 4096, "fieldRef": LABELS}, ("Invalid", "d.mode"), id="mode"),
        pytest.param(
            {"fieldRef": LABELS | {"fieldPath": "spec.nodeName"}},
            ("NotSupported", "d.fieldRef.fieldPath"),
            id="not-for-files",
        ),
        pytest.param(
            {"fieldRef": LABELS | {"fieldPath": "metadata.labels['a b']"}},
            ("Invalid", "d.fieldRef"),
            id="no-such-label",
        ),
        pytest.param(
            {"fieldRef": LABELS | {"apiVersion": "v2"}},
            ("Invalid", "d.fieldRef.fieldPath"),
            id="version",
        ),
        pytest.param(
            {"resourceFieldRef": {"resource": "limits.cpu"}},
            ("Required", "d.resourceFieldRef.containerName"),
            id="whose-resource",
        ),
    ],
)
def test_a_file_with_one_fault_is_refused_for_it_alone(
    file: dict[str, Any], refused: tuple[str, str]
) -> None:
    assert found(**file) == {refused: 1}


def test_a_source_projects_one_thing() -> None:
    both = {"secret": {"name": "s"}, "configMap": {"name": "c"}}

    assert causes(projected_errors({"sources": [both]}, "p")) == {("Forbidden", "p.sources[0]"): 1}


def test_a_token_lives_ten_minutes_at_least() -> None:
    token = {"serviceAccountToken": {"path": "t", "expirationSeconds": 60}}

    assert causes(projected_errors({"sources": [token]}, "p")) == {
        ("Invalid", "p.sources[0].serviceAccountToken.expirationSeconds"): 1
    }
