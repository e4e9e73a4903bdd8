from collections import Counter

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.networking.endpoints import ENDPOINT_SLICE, ENDPOINTS
from tests.apiserver.model.kinds.complaints import complaints


@pytest.mark.parametrize(
    ("subset", "expected"),
    [
        pytest.param({"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1}]}, [], id="usual"),
        pytest.param({}, [("Required", "subsets[0]")], id="empty"),
        pytest.param(
            {"addresses": [{"ip": "127.0.0.1"}]},
            [("Invalid", "subsets[0].addresses[0].ip")],
            id="loopback",
        ),
        pytest.param(
            {"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 0}]},
            [("Invalid", "subsets[0].ports[0].port")],
            id="port",
        ),
    ],
)
def test_endpoints_can_be_reached(subset: Document, expected: list[tuple[str, str]]) -> None:
    endpoints: Document = {"metadata": {}, "subsets": [subset]}
    ENDPOINTS.default(endpoints)

    assert complaints(ENDPOINTS.validate(endpoints)) == Counter(expected)
    assert complaints(ENDPOINTS.validate_update(endpoints, endpoints)) == Counter()


@pytest.mark.parametrize(
    ("kind", "addresses", "expected"),
    [
        ("IPv4", ["10.0.0.1"], []),
        ("", ["10.0.0.1"], [("Required", "addressType")]),
        ("IPv5", [], [("NotSupported", "addressType"), ("Required", "endpoints[0].addresses")]),
        ("IPv6", ["10.0.0.1"], [("Invalid", "endpoints[0].addresses")]),
        ("FQDN", ["A_b"], [("Invalid", "endpoints[0].addresses[0]")]),
    ],
)
def test_slices_hold_addresses_of_one_type(
    kind: str, addresses: list[str], expected: list[tuple[str, str]]
) -> None:
    endpoint_slice: Document = {
        "metadata": {},
        "addressType": kind,
        "endpoints": [{"addresses": addresses}],
        "ports": [{"port": 1}],
    }
    ENDPOINT_SLICE.default(endpoint_slice)

    assert endpoint_slice["ports"] == [{"port": 1, "name": "", "protocol": "TCP"}]
    assert complaints(ENDPOINT_SLICE.validate(endpoint_slice)) == Counter(expected)


def test_a_slice_keeps_its_type() -> None:
    old: Document = {"metadata": {}, "addressType": "IPv4", "endpoints": None, "ports": None}

    found = complaints(ENDPOINT_SLICE.validate_update(old | {"addressType": "IPv6"}, old))

    assert found == Counter([("Invalid", "addressType")])
