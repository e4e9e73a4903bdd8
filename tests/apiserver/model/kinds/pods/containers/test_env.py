from typing import Any

import pytest

from tests.apiserver.model.kinds.pods.objects import a_container, a_pod, a_pod_with, complaints


@pytest.mark.parametrize(
    "source",
    [
        pytest.param({"fieldRef": {"fieldPath": "metadata.name"}}, id="field"),
        pytest.param({"fieldRef": {"fieldPath": "metadata.labels['a/b']"}}, id="label"),
        pytest.param({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}, id="cpu"),
        pytest.param({"configMapKeyRef": {"name": "cm", "key": "k"}}, id="config-map"),
    ],
)
def test_a_value_can_come_from_elsewhere(source: dict[str, Any]) -> None:
    assert not complaints(a_pod_with(env=[{"name": "A", "valueFrom": source}]))


@pytest.mark.parametrize(
    ("variable", "refused"),
    [
        pytest.param({"name": ""}, ("Required", "name"), id="no-name"),
        pytest.param({"name": "a=b"}, ("Invalid", "name"), id="name-with-equals-sign"),
        pytest.param({"name": "A", "valueFrom": {}}, ("Invalid", "valueFrom"), id="no-source"),
        pytest.param(
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nope"}}},
            ("Invalid", "valueFrom.fieldRef.fieldPath"),
            id="unknown-field",
        ),
        pytest.param(
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}},
            ("NotSupported", "valueFrom.fieldRef.fieldPath"),
            id="field-not-for-variables",
        ),
        pytest.param(
            {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}},
            ("Required", "valueFrom.secretKeyRef.key"),
            id="no-key",
        ),
        pytest.param(
            {"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ("Invalid", "valueFrom"),
            id="value-and-source",
        ),
        pytest.param(
            {
                "name": "A",
                "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}},
            },
            ("Invalid", "valueFrom.resourceFieldRef.divisor"),
            id="odd-divisor",
        ),
    ],
)
def test_a_variable_with_one_fault_is_refused_for_it_alone(
    variable: dict[str, Any], refused: tuple[str, str]
) -> None:
    reason, field = refused

    found = complaints(a_pod_with(env=[variable]))

    assert found == {(reason, f"spec.containers[0].env[0].{field}"): 1}


def test_all_keys_of_an_object_need_an_object() -> None:
    found = complaints(a_pod_with(envFrom=[{"prefix": "A"}, {"configMapRef": {}}]))

    assert found == {
        ("Invalid", "spec.containers[0].envFrom"): 1,
        ("Required", "spec.containers[0].envFrom[1].configMapRef.name"): 1,
    }


def test_a_variable_is_read_only_from_files_that_the_pod_wrote() -> None:
    variable = {
        "name": "A",
        "valueFrom": {"fileKeyRef": {"key": "K", "path": "env", "volumeName": "v"}},
    }
    own = [{"name": "v", "emptyDir": {}}]
    foreign = [{"name": "v", "hostPath": {"path": "/"}}]
    path = "spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName"

    def found(volumes: list[dict[str, Any]]) -> Any:
        return complaints(a_pod(containers=[a_container(env=[variable])], volumes=volumes))

    assert not found(own)
    assert found(foreign) == {("Invalid", path): 1}
    assert found([]) == {("NotFound", path): 1}
