from plimsoll.apiserver.model.kinds.networking.service_ports import (
    gets_ports,
    is_checked,
    keep_ports,
    node_ports,
)


def test_a_port_keeps_its_number_by_name_unless_another_has_it() -> None:
    before = {
        "type": "NodePort",
        "ports": [{"name": "a", "nodePort": 1}, {"name": "b", "nodePort": 2}],
    }
    spec = {"type": "NodePort", "ports": [{"name": "a"}, {"name": "c", "nodePort": 2}]}
    keep_ports(spec, before)
    assert node_ports(spec) == [1, 2]

    swapped = {"type": "NodePort", "ports": [{"name": "a"}, {"name": "b", "nodePort": 1}]}
    keep_ports(swapped, before)
    assert node_ports(swapped) == [1]


def test_which_services_get_ports() -> None:
    assert gets_ports({"type": "NodePort"})
    assert not gets_ports({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False})
    assert is_checked({"type": "LoadBalancer", "externalTrafficPolicy": "Local"})
    assert not is_checked({"type": "NodePort", "externalTrafficPolicy": "Local"})
