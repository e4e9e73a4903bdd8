from plimsoll.apiserver.model.kinds.networking.service_network import (
    ServiceNetwork,
    parse_address_range,
    parse_port_range,
)


def test_every_address_of_a_range_is_handed_out_once() -> None:
    network = ServiceNetwork(addresses=parse_address_range("10.0.0.0/27"))
    taken: set[str] = set()
    while (address := network.find_address("default/web", taken)) is not None:
        taken.add(address)

    assert taken == {f"10.0.0.{number}" for number in range(1, 31)}


def test_every_port_of_a_range_is_handed_out_once() -> None:
    network = ServiceNetwork(node_ports=parse_port_range("30000-30009"))
    taken: set[int] = set()
    while (port := network.find_port("default/web", taken)) is not None:
        taken.add(port)

    assert taken == set(range(30000, 30010))


def test_the_server_has_the_first_address() -> None:
    assert ServiceNetwork().server_address == "10.96.0.1"
