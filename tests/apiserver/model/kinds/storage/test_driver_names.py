import pytest

from plimsoll.apiserver.model.kinds.storage.driver_names import (
    driver_name_errors,
    parameters_errors,
    provisioner_errors,
)
from tests.apiserver.model.kinds.storage.objects import causes


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("csi.Example.com", []),
        ("", ["Required"]),
        ("a_b", ["Invalid"]),
        ("x" * 64, ["TooLong"]),
    ],
)
def test_a_driver_is_named_like_a_domain_in_any_case(name: str, reasons: list[str]) -> None:
    assert list(causes(driver_name_errors(name, "driver"))) == [(r, "driver") for r in reasons]


@pytest.mark.parametrize(
    ("name", "reasons"),
    [("example.com/nfs", []), ("", ["Required"]), ("a/b/c", ["Invalid"]), ("a b", ["Invalid"])],
)
def test_a_provisioner_may_have_a_prefix(name: str, reasons: list[str]) -> None:
    assert list(causes(provisioner_errors(name, "p"))) == [(r, "p") for r in reasons]


@pytest.mark.parametrize(
    ("parameters", "reasons"),
    [
        pytest.param({"a": "b"}, [], id="fine"),
        pytest.param({"": "b"}, ["Invalid"], id="empty-key"),
        pytest.param({str(i): "" for i in range(513)}, ["TooLong"], id="too-many"),
        pytest.param({"a": "é" * 131072}, ["TooLong"], id="too-many-bytes"),
    ],
)
def test_parameters_have_keys_and_a_size(parameters: dict[str, str], reasons: list[str]) -> None:
    assert list(causes(parameters_errors(parameters, "p"))) == [(r, "p") for r in reasons]
