from plimsoll.api.networking import EndpointSlice
from plimsoll.api.typed import from_document


def test_a_slice_is_read_with_its_endpoints() -> None:
    endpoint = {"addresses": ["10.1.0.1"], "conditions": {"ready": False}, "nodeName": "n1"}
    read = from_document(EndpointSlice, {"addressType": "IPv4", "endpoints": [endpoint]})

    assert read.endpoints[0].addresses == ("10.1.0.1",)
    assert (read.endpoints[0].conditions.ready, read.endpoints[0].node_name) == (False, "n1")
