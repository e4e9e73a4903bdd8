import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from plimsoll.api.meta import Condition
from plimsoll.api.pods import (
    Container,
    ContainerResources,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
)
from plimsoll.api.volumes import Resources
from plimsoll.decide.scheduling.pod_requests import (
    Amounts,
    held_by,
    is_scalar,
    non_zero_requests,
    requested_by,
)
from tests.decide.scheduling.builders import a_container

MIB = 2**20


def a_sidecar(name: str, **requests: str) -> Container:
    resources = ContainerResources(requests=requests)
    return Container(name=name, resources=resources, restart_policy="Always")


def test_a_pod_takes_what_its_containers_need_at_the_busiest_moment() -> None:
    spec = PodSpec(
        containers=(a_container("a", cpu="100m"), a_container("b", cpu="200m")),
        init_containers=(
            a_sidecar("proxy", cpu="50m"),
            a_container("migrate", cpu="400m", memory="1Mi"),
        ),
        overhead={"cpu": "1m"},
    )
    assert requested_by(Pod(spec=spec)) == Amounts(milli_cpu=451, memory=MIB)


def test_what_the_pod_asks_for_as_a_whole_replaces_the_sum() -> None:
    spec = PodSpec(
        containers=(a_container(cpu="100m", memory="5Mi"),),
        resources=Resources(requests={"cpu": "2", "ephemeral-storage": "1Gi"}),
    )
    assert requested_by(Pod(spec=spec)) == Amounts(milli_cpu=2000, memory=5 * MIB)


def test_only_the_total_is_rounded_up() -> None:
    half = tuple(a_container(str(i), cpu="0.0005", memory="0.5") for i in range(2))
    assert requested_by(Pod(spec=PodSpec(containers=half))) == Amounts(milli_cpu=1, memory=1)


def resizing(*, reason: str) -> Pod:
    status = PodStatus(
        container_statuses=(
            ContainerStatus(
                name="main",
                allocated_resources={"cpu": "2"},
                resources=Resources(requests={"cpu": "1"}),
            ),
        ),
        conditions=(Condition(type="PodResizePending", status="True", reason=reason),),
    )
    return Pod(spec=PodSpec(containers=(a_container(cpu="3"),)), status=status)


def test_a_pod_that_is_resized_holds_the_most_of_before_and_after() -> None:
    assert held_by(resizing(reason="Deferred")).milli_cpu == 3000
    assert requested_by(resizing(reason="Deferred")).milli_cpu == 3000


def test_a_size_that_the_node_refused_is_not_held() -> None:
    assert held_by(resizing(reason="Infeasible")).milli_cpu == 2000


def test_nothing_is_assumed_in_place_of_a_size_that_the_node_refused() -> None:
    granted = ContainerStatus(name="main", allocated_resources={"cpu": "1m", "memory": "1"})
    pod = resizing(reason="Infeasible")
    pod = replace(pod, status=replace(pod.status, container_statuses=(granted,)))

    assert non_zero_requests(pod) == (1, 1)


def test_a_node_that_keeps_account_of_the_whole_pod_is_believed() -> None:
    spec = PodSpec(
        containers=(a_container("a", cpu="1"), a_container("b", cpu="1")),
        resources=Resources(requests={"cpu": "3"}),
    )
    status = PodStatus(
        allocated_resources={"cpu": "4", "memory": "1Mi"},
        resources=Resources(requests={"cpu": "2"}),
    )
    assert held_by(Pod(spec=spec, status=status)) == Amounts(milli_cpu=4000, memory=MIB)
    assert held_by(Pod(spec=spec)) == Amounts(milli_cpu=3000)
    assert non_zero_requests(Pod(spec=spec)) == (3000, 400 * MIB)


def test_a_container_that_asks_for_nothing_is_thought_to_need_something() -> None:
    spec = PodSpec(containers=(a_container("quiet"), a_container("modest", cpu="0")))
    assert non_zero_requests(Pod(spec=spec)) == (100, 400 * MIB)
    assert held_by(Pod(spec=spec)) == Amounts()


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("example.com/gpu", True),
        ("hugepages-2Mi", True),
        ("attachable-volumes-x", True),
        ("kubernetes.io/batch", True),
        ("cpu", False),
        ("foo", False),
        ("requests.example.com/gpu", False),
    ],
)
def test_nodes_count_devices_and_the_like(name: str, *, counts: bool) -> None:
    assert is_scalar(name) is counts


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=4), st.integers(0, 1000))
def test_no_moment_needs_more_than_the_request(running: list[int], first: int) -> None:
    spec = PodSpec(
        containers=tuple(a_container(str(i), cpu=f"{cpu}m") for i, cpu in enumerate(running)),
        init_containers=(a_container("init", cpu=f"{first}m"),),
    )
    assert requested_by(Pod(spec=spec)).milli_cpu == max(sum(running), first)
