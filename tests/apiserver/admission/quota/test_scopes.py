from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.quota.scopes import in_scope
from tests.apiserver.admission.requests import an_object


def a_quota(*scopes: str) -> Document:
    return an_object("ResourceQuota", "q", spec={"scopes": list(scopes)})


def selecting(scope: str, operator: str, *values: str) -> Document:
    expression = {"scopeName": scope, "operator": operator, "values": list(values)}
    selector = {"matchExpressions": [expression]}
    return an_object("ResourceQuota", "q", spec={"scopeSelector": selector})


def a_pod(**spec: Any) -> Document:
    return an_object("Pod", spec={"containers": [{"name": "c"}]} | spec)


BUSY = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
NEIGHBOURLY = {
    "affinity": {
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "namespaces": ["other"]}}
            ]
        }
    }
}


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        ("Terminating", {"activeDeadlineSeconds": 5}, {}),
        ("NotTerminating", {}, {"activeDeadlineSeconds": 5}),
        ("BestEffort", {}, BUSY),
        ("NotBestEffort", BUSY, {}),
        ("PriorityClass", {"priorityClassName": "high"}, {}),
        ("CrossNamespacePodAffinity", NEIGHBOURLY, {}),
    ],
)
def test_a_scope_tells_pods_apart(scope: str, inside: Document, outside: Document) -> None:
    assert in_scope(a_quota(scope), "", "pods", a_pod(**inside))
    assert not in_scope(a_quota(scope), "", "pods", a_pod(**outside))


def test_without_scopes_everything_is_meant_and_with_several_what_is_in_all() -> None:
    both = a_quota("Terminating", "BestEffort")

    assert in_scope(a_quota(), "apps", "statefulsets", an_object("StatefulSet"))
    assert in_scope(both, "", "pods", a_pod(activeDeadlineSeconds=5))
    assert not in_scope(both, "", "pods", a_pod(activeDeadlineSeconds=5, **BUSY))


def test_kinds_without_scopes_are_never_in_one() -> None:
    assert not in_scope(a_quota("Terminating"), "", "configmaps", an_object("ConfigMap"))
    assert not in_scope(a_quota("Odd"), "", "pods", a_pod())
    assert not in_scope(a_quota("Terminating"), "", "persistentvolumeclaims", {})


@pytest.mark.parametrize(
    ("quota", "named", "meant"),
    [
        (selecting("VolumeAttributesClass", "Exists"), "gold", True),
        (selecting("VolumeAttributesClass", "DoesNotExist"), "gold", False),
        (selecting("VolumeAttributesClass", "DoesNotExist"), "", True),
        (selecting("VolumeAttributesClass", "In", "gold"), "gold", True),
        (selecting("VolumeAttributesClass", "In", "gold"), "", False),
        (selecting("VolumeAttributesClass", "NotIn", "gold"), "gold", False),
        (selecting("VolumeAttributesClass", "NotIn", "gold"), "", True),
        (selecting("VolumeAttributesClass", "Odd"), "gold", False),
    ],
)
def test_claims_are_chosen_by_their_attributes_class(
    quota: Document, named: str, *, meant: bool
) -> None:
    claim = an_object("PersistentVolumeClaim", spec={"volumeAttributesClassName": named}, status={})

    assert in_scope(quota, "", "persistentvolumeclaims", claim) is meant
