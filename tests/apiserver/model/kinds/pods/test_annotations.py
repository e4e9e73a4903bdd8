import pytest

from plimsoll.apiserver.model.kinds.pods.annotations import APP_ARMOR, MIRROR, SECCOMP_POD
from tests.apiserver.model.kinds.pods.objects import a_pod, a_stored_pod, complaints


@pytest.mark.parametrize(
    ("key", "value", "field"),
    [
        pytest.param(MIRROR, "x", f"metadata.annotations[{MIRROR}]", id="mirror-without-node"),
        pytest.param(SECCOMP_POD, "x", f"metadata.annotations.{SECCOMP_POD}", id="seccomp"),
        pytest.param(
            f"{APP_ARMOR}z", "unconfined", f"metadata.annotations[{APP_ARMOR}z]", id="app-armor"
        ),
        pytest.param(
            "scheduler.alpha.kubernetes.io/tolerations", "[", "metadata.annotations", id="json"
        ),
    ],
)
def test_an_annotation_that_means_nothing_is_refused(key: str, value: str, field: str) -> None:
    found = complaints(a_pod(meta={"annotations": {key: value}}))

    assert found == {("Invalid", field): 1}


def test_annotation_and_field_must_say_the_same() -> None:
    annotations = {SECCOMP_POD: "unconfined"}
    context = {"seccompProfile": {"type": "RuntimeDefault"}}

    found = complaints(a_pod(meta={"annotations": annotations}, securityContext=context))

    assert found == {("Forbidden", "spec.securityContext.seccompProfile.type"): 1}


def test_app_armor_profiles_move_from_annotations_to_fields() -> None:
    pod = a_stored_pod(meta={"annotations": {f"{APP_ARMOR}c": "localhost/mine"}})

    assert pod["spec"]["containers"][0]["securityContext"] == {
        "appArmorProfile": {"type": "Localhost", "localhostProfile": "mine"}
    }
