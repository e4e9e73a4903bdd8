"""Addresses that a node has for its pods."""

from ipaddress import IPv4Network

import pytest
from hypothesis import given, strategies as st

from plimsoll.processes.node.settings import NodeProcessSettings, network_of


@pytest.mark.parametrize(
    ("node", "network"),
    [
        pytest.param("node-0", "100.68.30.0/24", id="first"),
        pytest.param("node-1", "100.91.230.0/24", id="second"),
    ],
)
def test_a_node_keeps_its_piece_of_the_addresses_from_start_to_start(
    node: str, network: str
) -> None:
    assert network_of(NodeProcessSettings(), node) == IPv4Network(network)


@given(node=st.text(max_size=253))
def test_the_piece_of_a_node_has_256_addresses_of_the_shared_range(node: str) -> None:
    network = network_of(NodeProcessSettings(), node)

    assert network.num_addresses == 256
    assert network.subnet_of(IPv4Network("100.64.0.0/10"))
