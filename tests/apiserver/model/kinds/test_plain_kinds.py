from datetime import UTC, datetime

import pytest

from plimsoll.api.registry import Document, builtin_resources
from plimsoll.apiserver.model.kinds.plain_kinds import RULES_BY_KIND

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NETWORKING = "networking.k8s.io"


def test_all_plain_kinds_are_served() -> None:
    served = {(resource.group, resource.kind) for resource in builtin_resources()}

    assert set(RULES_BY_KIND) <= served


@pytest.mark.parametrize(
    ("kind", "spec", "filled"),
    [
        pytest.param((NETWORKING, "NetworkPolicy"), {}, {"policyTypes": ["Ingress"]}, id="policy"),
        pytest.param(
            (NETWORKING, "IngressClass"),
            {"parameters": {"name": "p"}},
            {"parameters": {"name": "p", "scope": "Cluster"}},
            id="ingress-class",
        ),
        pytest.param(
            ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
            {"matchingPrecedence": 0},
            {"matchingPrecedence": 1000},
            id="flow-schema",
        ),
        pytest.param(
            ("resource.k8s.io", "ResourceClaim"),
            {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
            {
                "devices": {
                    "requests": [
                        {
                            "name": "r",
                            "exactly": {
                                "deviceClassName": "c",
                                "allocationMode": "ExactCount",
                                "count": 1,
                            },
                        }
                    ]
                }
            },
            id="device-claim",
        ),
    ],
)
def test_defaults_that_people_see(kind: tuple[str, str], spec: Document, filled: Document) -> None:
    document: Document = {"metadata": {"name": "a"}, "spec": spec}

    RULES_BY_KIND[kind].default(document)

    assert document["spec"] == filled


def test_a_status_is_not_for_clients_to_create() -> None:
    said = {"loadBalancer": {"ingress": [{"hostname": "a.b"}]}}
    ingress: Document = {"metadata": {}, "spec": {}, "status": said}

    RULES_BY_KIND[NETWORKING, "Ingress"].prepare_create(ingress, NOW)

    assert ingress["status"] == {"loadBalancer": {}}


@pytest.mark.parametrize(
    ("name", "faults"), [("10.0.0.1", 0), ("fd00::1", 0), ("fd00:0::1", 1), ("nope", 1)]
)
def test_an_address_is_named_in_the_usual_form(name: str, faults: int) -> None:
    errors = RULES_BY_KIND[NETWORKING, "IPAddress"].name_errors(name, False)

    assert len(errors) == faults
