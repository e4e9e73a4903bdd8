import pytest

from plimsoll.apiserver.model.kinds.pods.images import default_pull_policy


@pytest.mark.parametrize("image", ["busybox", "busybox:latest", "reg.example.com:5000/a/b"])
def test_an_image_that_may_change_is_always_pulled(image: str) -> None:
    assert default_pull_policy(image) == "Always"


@pytest.mark.parametrize(
    "image",
    ["busybox:1.36", f"busybox@sha256:{'a' * 64}", "reg.example.com:5000/a:v1", "", " x", "Upper"],
)
def test_a_pinned_or_unreadable_image_is_pulled_once(image: str) -> None:
    assert default_pull_policy(image) == "IfNotPresent"
