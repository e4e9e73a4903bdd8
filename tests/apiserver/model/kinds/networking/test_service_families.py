import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.networking.service_families import (
    change_errors,
    mirror_addresses,
    needs_address,
)


@pytest.mark.parametrize(
    ("spec", "old", "listed"),
    [
        ({"clusterIP": "10.0.0.1"}, None, ["10.0.0.1"]),
        (
            {"clusterIP": "10.0.0.1"},
            {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]},
            ["10.0.0.1"],
        ),
        ({"clusterIPs": ["10.0.0.1"]}, {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}, None),
    ],
)
def test_the_list_follows_the_older_field(
    spec: Document, old: Document | None, listed: list[str] | None
) -> None:
    mirror_addresses(spec, old)

    assert spec.get("clusterIPs") == listed


def test_an_address_may_not_be_given_back() -> None:
    old = {"type": "ClusterIP", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]}

    (error,) = change_errors({"type": "ClusterIP"}, old)
    assert error.detail == "primary clusterIP can not be unset"
    assert list(change_errors({"type": "ExternalName"}, old)) == []


def test_headless_services_and_names_need_no_address() -> None:
    assert not needs_address({"type": "ClusterIP", "clusterIPs": ["None"]})
    assert not needs_address({"type": "ExternalName"})
    assert needs_address({"type": "NodePort"})
