import pytest

from plimsoll.decide.ceph.takeover.objections import PoolCopies, find_objection


@pytest.mark.parametrize(
    ("size", "min_size", "inside", "objection"),
    [
        pytest.param(1, 1, 1, "its only copy would be lost", id="one-copy"),
        pytest.param(2, 1, 2, "all 2 copies would be lost", id="all-inside"),
        pytest.param(3, 2, 2, "1 of 3 copies are outside of the domain", id="too-few"),
        pytest.param(3, 2, 1, None, id="survives"),
    ],
)
def test_a_pool_needs_enough_copies_outside(
    size: int, min_size: int, inside: int, objection: str | None
) -> None:
    found = find_objection(PoolCopies(pool="p", size=size, min_size=min_size, inside=inside))
    assert (found is None) == (objection is None)
    assert (objection or "") in (found or "")
