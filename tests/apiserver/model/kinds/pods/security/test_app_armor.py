import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.annotations import APP_ARMOR
from plimsoll.apiserver.model.kinds.pods.rules import RULES
from plimsoll.apiserver.model.kinds.pods.security.app_armor import app_armor_profile
from tests.apiserver.model.kinds.pods.objects import a_stored_pod


@pytest.mark.parametrize(
    ("annotation", "profile"),
    [
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("unconfined", {"type": "Unconfined"}),
        ("localhost/mine", {"type": "Localhost", "localhostProfile": "mine"}),
        ("localhost/", None),
        ("mine", None),
    ],
)
def test_annotations_are_understood(annotation: str, profile: Document | None) -> None:
    assert app_armor_profile(annotation) == profile


def test_clients_are_told_to_use_the_field() -> None:
    pod = a_stored_pod(meta={"annotations": {f"{APP_ARMOR}c": "unconfined"}})

    assert len(RULES.warnings(pod, None)) == 1


def test_an_annotation_that_repeats_the_pods_own_profile_is_ignored() -> None:
    pod = a_stored_pod(
        meta={"annotations": {f"{APP_ARMOR}c": "unconfined"}},
        securityContext={"appArmorProfile": {"type": "Unconfined"}},
    )

    assert "securityContext" not in pod["spec"]["containers"][0]
    assert RULES.warnings(pod, None) == []
