"""Which slices a service has."""

from typing import Any

import msgspec
import pytest
from msgspec import structs

from plimsoll.api.core import Node, Service, ServicePort, ServiceSpec
from plimsoll.api.meta import Condition
from plimsoll.api.networking import EndpointSlice
from plimsoll.api.pods import Container, ContainerPort, Pod, PodStatus
from plimsoll.api.registry import Document
from plimsoll.api.typed import from_document
from plimsoll.decide.cluster.endpoints.slices import SLICE_SIZE, decide_slices
from plimsoll.decide.plan import NOTHING, Create, Delete, Patch, Plan
from tests.builders import a_pod, meta


def a_service(**spec: Any) -> Service:
    known: dict[str, Any] = {"selector": {"app": "web"}, "ports": (ServicePort(port=80),)}
    return Service(metadata=meta("web", "default"), spec=ServiceSpec(**known | spec))


def running(number: int, *, ready: bool = True) -> Pod:
    conditions = (Condition(type="Ready", status="True" if ready else "False"),)
    status = PodStatus(phase="Running", pod_ip=f"10.1.0.{number}", conditions=conditions)
    return structs.replace(a_pod(f"web-{number:03}", node="node-1"), status=status)


def a_node(_name: str) -> Node:
    return Node(metadata=meta("node-1", "", {"topology.kubernetes.io/zone": "a"}))


def created(plan: Plan) -> list[Document]:
    assert all(isinstance(write, Create) for write in plan.writes)
    documents = [write.document for write in plan.writes if isinstance(write, Create)]
    as_sent: list[Document] = msgspec.json.decode(msgspec.json.encode(documents))
    return as_sent


def stored(plan: Plan) -> list[EndpointSlice]:
    return [from_document(EndpointSlice, document) for document in created(plan)]


def test_pods_are_listed_with_their_state_and_place() -> None:
    (document,) = created(
        decide_slices(a_service(), [running(1), running(2, ready=False)], (), a_node)
    )

    assert document["metadata"]["labels"] == {
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    assert document["metadata"]["ownerReferences"][0]["kind"] == "Service"
    assert document["ports"] == [{"port": 80, "protocol": "TCP"}]
    first, second = document["endpoints"]
    assert first == {
        "addresses": ["10.1.0.1"],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "nodeName": "node-1",
        "zone": "a",
        "targetRef": {
            "kind": "Pod",
            "namespace": "default",
            "name": "web-001",
            "uid": "uid-default-web-001",
        },
    }
    assert second["conditions"] == {"ready": False, "serving": False, "terminating": False}


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="none"),
        pytest.param([a_pod("web-0")], id="without-an-address"),
        pytest.param(
            [structs.replace(running(1), status=PodStatus(phase="Failed", pod_ip="10.1.0.1"))],
            id="finished",
        ),
    ],
)
def test_a_service_without_running_pods_has_one_empty_slice(pods: list[Pod]) -> None:
    (document,) = created(decide_slices(a_service(), pods, (), a_node))

    assert (document["endpoints"], document["addressType"]) == ([], "IPv4")


def test_many_pods_need_several_slices() -> None:
    slices = stored(decide_slices(a_service(), map(running, range(250)), (), a_node))

    assert [len(each.endpoints) for each in slices] == [SLICE_SIZE, SLICE_SIZE, 50]
    assert len({each.name for each in slices}) == 3


def test_a_named_port_may_have_another_number_in_each_pod() -> None:
    def serving(number: int, port: int) -> Pod:
        ports = (ContainerPort(name="http", container_port=port, protocol="TCP"),)
        pod = running(number)
        containers = (Container(name="c", ports=ports),)
        return structs.replace(pod, spec=structs.replace(pod.spec, containers=containers))

    service = a_service(ports=(ServicePort(port=80, target_port="http"),))
    pods = [serving(1, 8080), serving(2, 9090), running(3)]

    slices = stored(decide_slices(service, pods, (), a_node))

    assert [(s.ports[0].port, len(s.endpoints)) for s in slices] == [(8080, 1), (9090, 1)]


def test_addresses_can_be_asked_for_before_pods_are_ready() -> None:
    service = a_service(publish_not_ready_addresses=True, cluster_ip="None")
    (document,) = created(decide_slices(service, [running(1, ready=False)], (), a_node))

    assert document["endpoints"][0]["conditions"]["ready"] is True
    assert document["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


def test_slices_that_say_all_are_left_alone_and_others_are_changed_or_deleted() -> None:
    held = stored(decide_slices(a_service(), [running(1)], (), a_node))
    assert decide_slices(a_service(), [running(1)], held, a_node) is NOTHING

    (patch,) = decide_slices(a_service(), [], held, a_node).writes
    assert isinstance(patch, Patch)
    assert not patch.patch["endpoints"]

    (gone,) = decide_slices(a_service(selector={}), [], held, a_node).writes
    assert isinstance(gone, Delete)


def test_slices_of_other_writers_are_not_touched() -> None:
    other = EndpointSlice(metadata=meta("mine", "default", {"kubernetes.io/service-name": "web"}))

    (write,) = decide_slices(a_service(), [], [other], a_node).writes
    assert isinstance(write, Create)
