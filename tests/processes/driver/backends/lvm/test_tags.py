import re

import pytest
from hypothesis import given, strategies as st

from plimsoll.processes.driver.backends.lvm import tags

ALLOWED_BY_LVM = re.compile(r"[A-Za-z0-9_+.][A-Za-z0-9_+./=!:#&-]{0,1023}")


@given(st.text(max_size=400))
def test_whatever_a_volume_is_called_its_tags_are_tags_to_lvm(name: str) -> None:
    for tag in tags.tags_of("lvm-1", owner="me", name=name):
        assert ALLOWED_BY_LVM.fullmatch(tag)


@given(st.text(max_size=60), st.text(max_size=60))
def test_different_names_stay_different(one: str, other: str) -> None:
    assert (tags.escaped(one) == tags.escaped(other)) == (one == other)


def test_a_volume_is_known_by_its_id_whichever_driver_made_it() -> None:
    marks = tags.tags_of("lvm-1", owner="me", name="pvc-1")
    assert tags.is_volume("lvm-1", marks)
    assert not tags.is_volume("lvm-2", marks)
    assert not tags.is_volume("lvm-1", ["plimsoll.id=lvm-1"])


def test_only_the_ledger_that_made_a_volume_owns_it() -> None:
    marks = tags.tags_of("lvm-1", owner="me", name="pvc-1")
    assert tags.is_made_by("me", marks)
    assert not tags.is_made_by("another", marks)
    assert not tags.is_made_by("me", [])


@pytest.mark.parametrize("name", ["", "-f", "--yes", "a b", "a/b", "@all", "../x", "a\n", "ä", "A"])
def test_what_cannot_be_an_id_of_ours_is_never_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="no id of ours"):
        tags.checked(name)
