"""Finalizers are written as a list, on the version that was seen."""

from plimsoll.api.meta import ObjectKey, ObjectMeta
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.finalizers import add_finalizer, remove_finalizer
from plimsoll.decide.plan import Patch, ResourceName

CLAIMS = ResourceName("", "v1", "persistentvolumeclaims")


def a_claim(*finalizers: str) -> PersistentVolumeClaim:
    metadata = ObjectMeta(
        name="data", namespace="default", uid="u", resource_version="7", finalizers=finalizers
    )
    return PersistentVolumeClaim(metadata=metadata)


def patch(finalizers: list[str] | None) -> Patch:
    return Patch(
        resource=CLAIMS,
        key=ObjectKey("default", "data"),
        patch={"metadata": {"finalizers": finalizers}},
        version="7",
        uid="u",
    )


def test_a_finalizer_is_added_behind_the_others() -> None:
    assert add_finalizer(CLAIMS, a_claim("x"), "ours") == patch(["x", "ours"])


def test_a_finalizer_is_removed_and_the_others_stay() -> None:
    assert remove_finalizer(CLAIMS, a_claim("x", "ours", "y"), "ours") == patch(["x", "y"])


def test_without_the_last_finalizer_the_field_is_removed() -> None:
    assert remove_finalizer(CLAIMS, a_claim("ours"), "ours") == patch(None)
