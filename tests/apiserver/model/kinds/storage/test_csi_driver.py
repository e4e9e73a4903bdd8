from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.storage.csi_driver import RULES
from tests.apiserver.model.kinds.storage.objects import NOW, causes


def a_driver(**spec: Any) -> Document:
    driver = {"metadata": {"name": "d.example.com"}, "spec": dict(spec)}
    RULES.default(driver)
    return driver


def test_a_driver_attaches_persistent_volumes_unless_told_otherwise() -> None:
    assert a_driver()["spec"] == {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "requiresRepublish": False,
        "seLinuxMount": False,
        "preventPodSchedulingIfMissing": False,
        "volumeLifecycleModes": ["Persistent"],
    }


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"fsGroupPolicy": ""}, ("NotSupported", "fsGroupPolicy")),
        ({"volumeLifecycleModes": ["Forever"]}, ("NotSupported", "volumeLifecycleModes")),
        (
            {"nodeAllocatableUpdatePeriodSeconds": 9},
            ("Invalid", "nodeAllocatableUpdatePeriodSeconds"),
        ),
        ({"serviceAccountTokenInSecrets": True}, ("Invalid", "serviceAccountTokenInSecrets")),
        ({"tokenRequests": [{}, {}]}, ("Duplicate", "tokenRequests[1].audience")),
        (
            {"tokenRequests": [{"expirationSeconds": 599}]},
            ("Invalid", "tokenRequests[0].expirationSeconds"),
        ),
        (
            {"tokenRequests": [{"expirationSeconds": 2**32 + 1}]},
            ("Invalid", "tokenRequests[0].expirationSeconds"),
        ),
    ],
)
def test_a_wrong_field_is_refused(spec: Document, complaint: tuple[str, str]) -> None:
    reason, field = complaint

    assert list(causes(RULES.validate(a_driver(**spec)))) == [(reason, f"spec.{field}")]


def test_attaching_and_lifecycle_modes_are_fixed() -> None:
    changed = a_driver(attachRequired=False, volumeLifecycleModes=["Ephemeral"])

    assert causes(RULES.validate_update(changed, a_driver())) == {
        ("Invalid", "spec.attachedRequired"): 1,
        ("Invalid", "spec.volumeLifecycleModes"): 1,
    }


def test_only_changes_of_the_spec_count_as_a_generation() -> None:
    first, second, third = (a_driver(storageCapacity=flag) for flag in (False, True, True))

    RULES.prepare_update(second, first, NOW)
    RULES.prepare_update(third, second, NOW)

    assert second["metadata"]["generation"] == 1
    assert "generation" not in first["metadata"]
    assert "generation" not in third["metadata"]


def test_tokens_in_volume_attributes_are_warned_of_when_they_appear() -> None:
    asking = a_driver(tokenRequests=[{"audience": "x"}])
    careful = a_driver(tokenRequests=[{"audience": "x"}], serviceAccountTokenInSecrets=True)

    assert len(RULES.warnings(asking, None)) == 1
    assert len(RULES.warnings(asking, a_driver())) == 1
    assert RULES.warnings(asking, asking) == []
    assert RULES.warnings(careful, None) == []
