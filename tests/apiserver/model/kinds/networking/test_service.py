from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.networking.service import RULES
from plimsoll.apiserver.model.kinds.networking.service_families import mirror_addresses
from tests.apiserver.model.kinds.complaints import complaints

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_service(**spec: Any) -> Document:
    service: Document = {"metadata": {"name": "web"}, "spec": spec}
    RULES.default(service)
    mirror_addresses(service["spec"], None)
    RULES.prepare_create(service, NOW)
    return service


def test_a_headless_service_as_stateful_sets_use_it() -> None:
    service = a_service(clusterIP="None", ports=[{"port": 80}], selector={"app": "web"})

    assert service["spec"] == {
        "clusterIP": "None",
        "clusterIPs": ["None"],
        "internalTrafficPolicy": "Cluster",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "selector": {"app": "web"},
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    assert service["status"] == {"loadBalancer": {}}
    assert complaints(RULES.validate(service)) == Counter()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [("Required", "spec.ports")], id="no-ports"),
        pytest.param({"clusterIP": "None"}, [], id="headless-needs-no-ports"),
        pytest.param(
            {"type": "ExternalName"}, [("Required", "spec.externalName")], id="no-external-name"
        ),
        pytest.param({"type": "ExternalName", "externalName": "a.b."}, [], id="external-name"),
        pytest.param(
            {"ports": [{"port": 1, "appProtocol": "kubernetes.io/h2c"}]}, [], id="application"
        ),
        pytest.param(
            {"ports": [{"port": 1, "appProtocol": "two words"}]},
            [("Invalid", "spec.ports[0].appProtocol")],
            id="application-that-is-no-name",
        ),
        pytest.param(
            {"ports": [{"port": 1}], "trafficDistribution": "PreferSameNode"}, [], id="near"
        ),
        pytest.param(
            {"ports": [{"port": 1}], "trafficDistribution": "Anywhere"},
            [("NotSupported", "spec.trafficDistribution")],
            id="unknown-distribution",
        ),
        pytest.param(
            {"type": "Nope", "ports": [{"port": 1}]}, [("NotSupported", "spec.type")], id="type"
        ),
        pytest.param(
            {"ports": [{"port": 0}]},
            [("Invalid", "spec.ports[0].port"), ("Invalid", "spec.ports[0].targetPort")],
            id="port-number",
        ),
        pytest.param(
            {"ports": [{"port": 1, "name": "a"}, {"port": 1}]},
            [("Required", "spec.ports[1].name"), ("Duplicate", "spec.ports[1]")],
            id="ports-are-told-apart",
        ),
        pytest.param(
            {"ports": [{"port": 1, "nodePort": 30000}]},
            [("Forbidden", "spec.ports[0].nodePort")],
            id="node-port-of-a-cluster-address",
        ),
        pytest.param(
            {"ports": [{"port": 1}], "sessionAffinity": "Nope"},
            [("NotSupported", "spec.sessionAffinity")],
            id="affinity",
        ),
        pytest.param(
            {"ports": [{"port": 1}], "clusterIP": "x"},
            [("Invalid", "spec.clusterIPs[0]")],
            id="address",
        ),
        pytest.param(
            {"ports": [{"port": 1}], "selector": {"a b": ""}},
            [("Invalid", "spec.selector")],
            id="selector",
        ),
    ],
)
def test_services_are_checked(spec: Document, expected: list[tuple[str, str]]) -> None:
    assert complaints(RULES.validate(a_service(**spec))) == Counter(expected)


def test_the_address_does_not_change() -> None:
    old = a_service(clusterIP="10.0.0.1", ports=[{"port": 1}])
    new = a_service(clusterIP="10.0.0.2", ports=[{"port": 1}])

    found = complaints(RULES.validate_update(new, old))

    assert found == Counter([("Invalid", "spec.clusterIPs[0]")])


def test_an_old_name_for_a_distribution_is_told() -> None:
    old = a_service(ports=[{"port": 1}], trafficDistribution="PreferClose")

    assert RULES.warnings(old, None) == [
        'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'
    ]
