import pytest

from plimsoll.wire.csi.binding import BINDING_KEY, ClaimBinding, binding_metadata, find_binding


@pytest.mark.parametrize("binding", list(ClaimBinding))
def test_a_driver_reads_what_a_provisioner_tells(binding: ClaimBinding) -> None:
    assert find_binding(binding_metadata(binding)) is binding


def test_other_callers_say_nothing() -> None:
    assert find_binding({}) is None
    assert find_binding({BINDING_KEY: "sometime"}) is None
