from plimsoll.api.pods import Container, ContainerPort, Pod, PodSpec
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Reason
from plimsoll.decide.scheduling.rules import node_ports
from tests.builders import a_node, meta
from tests.decide.scheduling.builders import flags_by_node


def a_pod_with_ports(*ports: ContainerPort, name: str = "new", node: str = "") -> Pod:
    spec = PodSpec(node_name=node, containers=(Container(ports=ports),))
    return Pod(metadata=meta(name, "default"), spec=spec)


HTTP = ContainerPort(host_port=80)
LOCAL_HTTP = ContainerPort(host_port=80, host_ip="127.0.0.1")


def test_a_pod_without_host_ports_is_not_concerned() -> None:
    assert node_ports.prepare(a_pod_with_ports(ContainerPort(container_port=80))) is NOT_CONCERNED


def test_a_port_that_another_pod_has_speaks_against_the_node() -> None:
    wanted = node_ports.prepare(a_pod_with_ports(LOCAL_HTTP))
    used = node_ports.used_ports([a_pod_with_ports(HTTP, name="other")])
    assert isinstance(wanted, frozenset)

    judgement = node_ports.judge(wanted, a_node("n1"), used)

    assert [finding.reason for finding in judgement.findings] == [Reason.PORT_CONFLICT]
    assert node_ports.judge(wanted, a_node("n1"), frozenset()).is_fit


def test_all_nodes_at_once_follow_the_pods_that_come_and_go() -> None:
    kernel = Kernel(Columns.of([a_node("n1"), a_node("n2")]))
    other = a_pod_with_ports(HTTP, name="other", node="n1")
    kernel.columns.put(other)

    assert flags_by_node(kernel, a_pod_with_ports(HTTP)) == {"n1": Blocked.PORTS, "n2": 0}
    kernel.columns.remove(other)
    assert flags_by_node(kernel, a_pod_with_ports(HTTP)) == {"n1": 0, "n2": 0}
