from plimsoll.api.pods import Container, ContainerPort, Pod, PodSpec
from plimsoll.decide.scheduling.columns.pods.ports import HostPort, PortIndex, host_ports
from tests.builders import meta

ANYWHERE = HostPort("0.0.0.0", "TCP", 80)  # noqa: S104  nothing listens here


def a_pod_with_port(number: int = 80, address: str = "") -> Pod:
    port = ContainerPort(host_port=number, host_ip=address)
    return Pod(metadata=meta("p", "default"), spec=PodSpec(containers=(Container(ports=(port,)),)))


def test_a_port_without_address_and_protocol_is_tcp_on_every_address() -> None:
    assert host_ports(a_pod_with_port()) == {ANYWHERE}


def test_an_init_container_holds_its_ports_only_if_it_stays() -> None:
    container = Container(ports=(ContainerPort(host_port=80),))
    sidecar = Container(ports=(ContainerPort(host_port=81),), restart_policy="Always")
    pod = Pod(spec=PodSpec(init_containers=(container, sidecar)))

    assert {port.number for port in host_ports(pod)} == {81}


def test_one_address_excludes_itself_and_every_address() -> None:
    local = ANYWHERE._replace(address="127.0.0.1")

    assert local.excludes(local)
    assert local.excludes(ANYWHERE)
    assert ANYWHERE.excludes(local)
    assert not local.excludes(ANYWHERE._replace(address="10.0.0.1"))
    assert not ANYWHERE._replace(address="::").excludes(local)
    assert not ANYWHERE.excludes(ANYWHERE._replace(protocol="UDP"))


def test_a_port_is_free_when_the_last_pod_with_it_has_left() -> None:
    index = PortIndex()
    index.add(a_pod_with_port(), 3, 1)
    index.add(a_pod_with_port(), 3, 1)

    index.add(a_pod_with_port(), 3, -1)
    assert index.nodes_excluding(ANYWHERE) == 1 << 3
    index.add(a_pod_with_port(), 3, -1)
    assert index.nodes_excluding(ANYWHERE) == 0


def test_a_fork_does_not_follow() -> None:
    index = PortIndex()
    index.add(a_pod_with_port(), 1, 1)
    index.add(a_pod_with_port(address="127.0.0.1"), 2, 1)
    twin = index.fork()

    index.add(a_pod_with_port(), 1, -1)

    assert index.nodes_excluding(ANYWHERE) == 1 << 2
    assert twin.nodes_excluding(ANYWHERE) == 0b110
