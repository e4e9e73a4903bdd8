from typing import Any

import pytest

from plimsoll.apiserver.model.kinds.pods.totals import quality_of_service, total_resources
from tests.apiserver.model.kinds.pods.objects import a_container, a_pod, a_pod_with


def asks(name: str, cpu: str, **fields: Any) -> dict[str, Any]:
    return a_container(name, resources={"requests": {"cpu": cpu}}, **fields)


def total_cpu(**spec: Any) -> str:
    return str(total_resources(a_pod(**spec)["spec"], "requests")["cpu"])


def test_containers_that_run_together_add_up() -> None:
    assert total_cpu(containers=[asks("a", "1"), asks("b", "2")]) == "3"


def test_init_containers_need_room_only_one_after_the_other() -> None:
    small, large = asks("i", "1"), asks("j", "4")

    assert total_cpu(containers=[asks("a", "2")], initContainers=[small, large]) == "4"


def test_init_containers_that_stay_need_room_beside_all_others() -> None:
    stays = asks("i", "1", restartPolicy="Always")

    assert total_cpu(containers=[asks("a", "2")], initContainers=[stays]) == "3"
    assert total_cpu(containers=[asks("a", "2")], initContainers=[stays, asks("j", "4")]) == "5"


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        pytest.param({}, "BestEffort", id="nothing"),
        pytest.param({"requests": {"cpu": "0"}}, "BestEffort", id="zero"),
        pytest.param({"limits": {"example.com/gpu": "1"}}, "BestEffort", id="other-resources"),
        pytest.param({"requests": {"cpu": "1"}}, "Burstable", id="request"),
        pytest.param({"limits": {"cpu": "1"}}, "Burstable", id="only-one-limit"),
        pytest.param({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed", id="both-limits"),
    ],
)
def test_the_quality_of_service_follows_from_requests_and_limits(
    resources: dict[str, Any], quality: str
) -> None:
    assert quality_of_service(a_pod_with(resources=resources)["spec"]) == quality


def test_what_the_whole_pod_asks_for_decides_its_quality() -> None:
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}}

    assert quality_of_service(a_pod(resources=resources)["spec"]) == "Guaranteed"
