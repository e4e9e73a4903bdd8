from typing import Any

import pytest

from tests.apiserver.model.kinds.pods.objects import a_container, a_pod, a_pod_with, complaints

PATH = "spec.containers[0].resources"


@pytest.mark.parametrize(
    ("resources", "refused"),
    [
        pytest.param(
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
            {("Invalid", "requests"): 1},
            id="more-than-the-limit",
        ),
        pytest.param({"requests": {"cpu": "-1"}}, {("Invalid", "requests[cpu]"): 1}, id="negative"),
        pytest.param(
            {"requests": {"example.com/gpu": "1"}}, {("Required", "limits"): 1}, id="no-limit"
        ),
        pytest.param(
            {"limits": {"example.com/gpu": "1500m"}},
            {
                ("Invalid", "limits[example.com/gpu]"): 1,
                ("Invalid", "requests[example.com/gpu]"): 1,
            },
            id="half-a-device",
        ),
        pytest.param({"requests": {"extra": "1"}}, {("Invalid", "requests[extra]"): 2}, id="name"),
        pytest.param(
            {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}},
            {("Invalid", "limits[hugepages-2Mi]"): 1, ("Invalid", "requests[hugepages-2Mi]"): 1},
            id="half-a-page",
        ),
        pytest.param(
            {"limits": {"hugepages-2Mi": "2Mi"}}, {("Forbidden", ""): 1}, id="pages-alone"
        ),
        pytest.param({"claims": [{"name": "c"}]}, {("NotFound", "claims[0]"): 1}, id="claim"),
    ],
)
def test_faulty_resources_are_refused(
    resources: dict[str, Any], refused: dict[tuple[str, str], int]
) -> None:
    found = complaints(a_pod_with(resources=resources))

    assert found == {
        (reason, f"{PATH}.{field}".removesuffix(".")): count
        for (reason, field), count in refused.items()
    }


def test_a_pod_asks_for_at_least_what_its_containers_ask_for() -> None:
    container = a_container(resources={"requests": {"cpu": "2"}})

    assert complaints(a_pod(containers=[container], resources={"requests": {"cpu": "1"}})) == {
        ("Invalid", "spec.resources.requests[cpu]"): 1
    }


def test_a_pod_cannot_share_devices() -> None:
    found = complaints(a_pod(resources={"limits": {"ephemeral-storage": "1Gi"}}))

    assert found == {("NotSupported", "spec.resources.limits[ephemeral-storage]"): 1}
