from typing import Any

import pytest

from plimsoll.apiserver.model.kinds.pods.rules import RULES
from plimsoll.apiserver.model.kinds.pods.warnings import template_warnings
from tests.apiserver.model.kinds.pods.objects import a_container, a_pod, a_pod_with


def warned(**spec: Any) -> list[str]:
    """The fields that are warned about."""
    return [text.partition(": ")[0] for text in RULES.warnings(a_pod(**spec), None)]


def test_nothing_is_said_about_a_plain_pod() -> None:
    assert warned() == []


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param(
            {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
            "spec.nodeSelector[beta.kubernetes.io/os]",
            id="old-label",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "gitRepo": {"repository": "r"}}]},
            "spec.volumes[0].gitRepo",
            id="old-volume",
        ),
        pytest.param(
            {"imagePullSecrets": [{"name": "a"}, {"name": "a"}]},
            "spec.imagePullSecrets[1].name",
            id="secret-twice",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z"}]},
            "spec.topologySpreadConstraints[0].labelSelector",
            id="spread-over-nothing",
        ),
        pytest.param(
            {"dnsConfig": {"nameservers": ["FD00::1"]}},
            "spec.dnsConfig.nameservers[0]",
            id="odd-address",
        ),
    ],
)
def test_what_is_hardly_meant_is_warned_about(spec: dict[str, Any], field: str) -> None:
    assert warned(**spec) == [field]


def test_a_variable_set_twice_hides_the_first() -> None:
    first = {"name": "A", "value": "1"}
    hides, builds = {"name": "A", "value": "2"}, {"name": "A", "value": "$(A)2"}

    assert len(RULES.warnings(a_pod_with(env=[first, hides]), None)) == 1
    assert RULES.warnings(a_pod_with(env=[first, builds]), None) == []


def test_a_port_that_two_containers_name_is_warned_about() -> None:
    ports = [{"containerPort": 80, "name": "http"}]
    pod = a_pod(containers=[a_container("a", ports=ports), a_container("b", ports=ports)])

    texts = RULES.warnings(pod, None)

    assert ["duplicate port definition" in text for text in texts] == [True, False]
    assert ["duplicate port name" in text for text in texts] == [False, True]


def test_half_a_byte_is_warned_about() -> None:
    pod = a_pod_with(resources={"requests": {"memory": "1500m"}})

    assert len(RULES.warnings(pod, None)) == 1


def test_a_name_that_is_no_label_makes_a_strange_host_name() -> None:
    assert len(RULES.warnings(a_pod(meta={"name": "a.b"}), None)) == 1


def test_changes_are_not_warned_about() -> None:
    pod = a_pod(nodeSelector={"beta.kubernetes.io/os": "linux"})

    assert RULES.warnings(pod, pod) == []


def test_a_template_is_warned_about_in_its_own_place() -> None:
    spec = {"terminationGracePeriodSeconds": -1}

    (text,) = template_warnings({"spec": spec}, "spec.template")

    assert text.startswith("spec.template.spec.terminationGracePeriodSeconds:")


def test_files_that_hide_each_other_are_warned_about() -> None:
    items = [{"key": "a", "path": "p"}, {"key": "b", "path": "p/q"}, {"key": "c", "path": "pq"}]
    volumes = [{"name": "v", "configMap": {"name": "c", "items": items}}]

    assert len(RULES.warnings(a_pod(volumes=volumes), None)) == 1
