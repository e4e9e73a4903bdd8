import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.quota.compute import compute_charge, find_missing, is_compute
from tests.apiserver.admission.requests import a_pod, an_object


def charged(pod: Document) -> dict[str, str]:
    return {name: str(amount) for name, amount in compute_charge(pod).items()}


def a_container(name: str, cpu: str, **more: object) -> Document:
    return {"name": name, "resources": {"requests": {"cpu": cpu}}} | more


def test_requests_count_under_two_names_and_limits_under_one() -> None:
    pod = a_pod(resources={"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}})

    assert charged(pod) == {"memory": "1Gi", "requests.memory": "1Gi", "limits.memory": "2Gi"}


def test_devices_count_by_their_requests_alone() -> None:
    pod = a_pod(
        resources={"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
    )

    assert charged(pod) == {"requests.example.com/gpu": "1"}


def test_the_largest_moment_of_a_pod_counts_with_its_overhead() -> None:
    spec = {
        "initContainers": [
            a_container("sidecar", "100m", restartPolicy="Always"),
            a_container("init", "2"),
        ],
        "containers": [a_container("a", "500m"), a_container("b", "500m")],
        "overhead": {"cpu": "10m"},
    }

    assert charged(an_object("Pod", spec=spec))["requests.cpu"] == "2110m"


def test_what_is_said_for_the_whole_pod_counts_instead_of_its_containers() -> None:
    pod = a_pod(resources={"requests": {"cpu": "1"}})
    pod["spec"]["resources"] = {"requests": {"cpu": "3"}}

    assert charged(pod) == {"cpu": "3", "requests.cpu": "3"}


def test_overhead_does_not_limit_what_has_no_limit() -> None:
    pod = a_pod(resources={"limits": {"cpu": "1"}}, overhead={"cpu": "1", "memory": "1Gi"})

    assert charged(pod)["limits.cpu"] == "2"
    assert "limits.memory" not in charged(pod)


@pytest.mark.parametrize(
    ("conditions", "counted"),
    [
        pytest.param([], "2", id="the-larger-of-both"),
        pytest.param(
            [{"type": "PodResizePending", "reason": "Infeasible"}], "1500m", id="not-what-cannot-be"
        ),
    ],
)
def test_a_pod_that_is_resized_counts_with(conditions: list[Document], counted: str) -> None:
    pod = a_pod(resources={"requests": {"cpu": "2"}})
    running = {
        "name": "c",
        "resources": {"requests": {"cpu": "1"}},
        "allocatedResources": {"cpu": "1500m"},
    }
    pod["status"] = {"containerStatuses": [running], "conditions": conditions}

    assert charged(pod)["cpu"] == counted


def test_each_container_must_ask_for_cpu_and_memory_that_a_quota_limits() -> None:
    pod = a_pod(resources={"requests": {"cpu": "1"}}, initContainers=[{"name": "i"}])

    assert find_missing(pod, ["cpu", "limits.memory", "pods", "requests.ephemeral-storage"]) == (
        "must specify cpu for: i; limits.memory for: c,i"
    )
    assert find_missing(pod, ["pods"]) is None


def test_no_container_has_to_where_the_pod_asks_for_all_of_them() -> None:
    pod = a_pod()
    pod["spec"]["resources"] = {"limits": {"cpu": "1"}}

    assert find_missing(pod, ["memory"]) is None


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("limits.cpu", True),
        ("ephemeral-storage", True),
        ("hugepages-2Mi", True),
        ("requests.hugepages-2Mi", True),
        ("requests.example.com/gpu", True),
        ("limits.example.com/gpu", False),
        ("example.com/gpu", False),
        ("requests.storage", False),
        ("configmaps", False),
    ],
)
def test_which_names_are_about_compute_resources(name: str, is_one: bool) -> None:  # noqa: FBT001
    assert is_compute(name) is is_one
