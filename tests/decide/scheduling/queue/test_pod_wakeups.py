"""What pods that go or change mean for a pod that no node would take."""

import msgspec
import pytest

from plimsoll.api.pods import Container, ContainerPort, Pod, Toleration
from plimsoll.decide.scheduling.queue.pod_wakeups import (
    asks_for_less,
    frees_ports,
    leaves_place,
    tolerates_closed_nodes,
)
from tests.builders import a_pod


def listening(*ports: ContainerPort, node: str = "node-1") -> Pod:
    pod = a_pod("other", node=node)
    containers = (Container(name="main", ports=ports),)
    return msgspec.structs.replace(
        pod, spec=msgspec.structs.replace(pod.spec, containers=containers)
    )


WEB = ContainerPort(host_port=80)


@pytest.mark.parametrize(
    ("held", "wanted", "expected"),
    [
        pytest.param(WEB, WEB, True, id="the-same"),
        pytest.param(WEB, ContainerPort(host_port=80, protocol="TCP"), True, id="usual-protocol"),
        pytest.param(WEB, ContainerPort(host_port=80, host_ip="10.0.0.1"), True, id="everywhere"),
        pytest.param(WEB, ContainerPort(host_port=81), False, id="another-number"),
        pytest.param(WEB, ContainerPort(host_port=80, protocol="UDP"), False, id="protocol"),
        pytest.param(ContainerPort(), ContainerPort(), False, id="no-port-of-the-node"),
        pytest.param(
            ContainerPort(host_port=80, host_ip="10.0.0.1"),
            ContainerPort(host_port=80, host_ip="10.0.0.2"),
            False,
            id="another-address",
        ),
    ],
)
def test_a_pod_that_goes_frees_the_ports_that_it_held(
    held: ContainerPort, wanted: ContainerPort, *, expected: bool
) -> None:
    waiting = listening(wanted, node="")
    assert frees_ports(waiting, listening(held), None) is expected
    assert not frees_ports(waiting, listening(held, node=""), None)


def test_only_a_pod_with_a_node_leaves_room() -> None:
    assert leaves_place(a_pod(), a_pod("other", node="node-1"), None)
    assert not leaves_place(a_pod(), a_pod("other"), None)


def test_a_pod_must_ask_for_less_of_what_is_wanted() -> None:
    before = a_pod("other", node="node-1", requests={"cpu": "2", "memory": "2Gi"})
    after = a_pod("other", node="node-1", requests={"cpu": "1", "memory": "2Gi"})
    assert asks_for_less(a_pod(requests={"cpu": "1"}), before, after)
    assert not asks_for_less(a_pod(requests={"memory": "1Gi"}), before, after)


def test_a_pod_may_tolerate_closed_nodes() -> None:
    spec = msgspec.structs.replace(a_pod().spec, tolerations=(Toleration(operator="Exists"),))
    assert tolerates_closed_nodes(a_pod(), a_pod(), msgspec.structs.replace(a_pod(), spec=spec))
    assert not tolerates_closed_nodes(a_pod(), a_pod(), a_pod())
