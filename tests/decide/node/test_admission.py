from datetime import UTC, datetime

import msgspec
import pytest

from plimsoll.api.pods import Pod
from plimsoll.decide.node.admission import find_rejection, is_taken
from tests.builders import a_node, a_pod


def test_a_pod_that_fits_is_taken() -> None:
    others = [a_pod(f"web-{number}", requests={"cpu": "1"}) for number in range(7)]
    assert find_rejection(a_pod(requests={"cpu": "1"}), a_node(cpu="8"), others) is None


@pytest.mark.parametrize(
    ("pod", "others", "reason"),
    [
        pytest.param(a_pod(requests={"cpu": "9"}), 0, "OutOfcpu", id="cpu"),
        pytest.param(a_pod(requests={"memory": "33Gi"}), 0, "OutOfmemory", id="memory"),
        pytest.param(
            a_pod(requests={"ephemeral-storage": "1"}), 0, "OutOfephemeral-storage", id="storage"
        ),
        pytest.param(a_pod(requests={"example.com/gpu": "1"}), 0, "OutOfexample.com/gpu", id="gpu"),
        pytest.param(a_pod(), 110, "OutOfpods", id="pods"),
    ],
)
def test_a_pod_that_does_not_fit_is_rejected_by_name(pod: Pod, others: int, reason: str) -> None:
    found = find_rejection(pod, a_node(), [a_pod(f"o-{n}") for n in range(others)])
    assert found is not None
    assert found.reason == reason


def test_a_pod_for_other_nodes_is_rejected() -> None:
    pod = a_pod()
    spec = msgspec.structs.replace(pod.spec, node_selector={"disk": "fast"})
    found = find_rejection(msgspec.structs.replace(pod, spec=spec), a_node(), [])
    assert found is not None
    assert found.reason == "NodeAffinity"


def test_a_pod_counts_once_the_node_has_begun_with_it() -> None:
    pod = a_pod()
    begun = msgspec.structs.replace(pod.status, start_time=datetime(2024, 1, 1, tzinfo=UTC))
    assert not is_taken(pod)
    assert is_taken(msgspec.structs.replace(pod, status=begun))
