import pytest

from plimsoll.apiserver.model.kinds.workloads.int_or_percent import (
    amount,
    int_or_percent_errors,
    over_whole_errors,
)


@pytest.mark.parametrize("value", [0, 3, "0%", "100%"])
def test_numbers_and_shares_are_accepted(value: int | str) -> None:
    assert not list(int_or_percent_errors(value, "f"))
    assert not list(over_whole_errors(value, "f"))


@pytest.mark.parametrize("value", [-1, "3", "%", "x%"])
def test_other_values_are_refused(value: int | str) -> None:
    assert len(list(int_or_percent_errors(value, "f"))) == 1


def test_no_share_is_more_than_the_whole() -> None:
    assert len(list(over_whole_errors("101%", "f"))) == 1


def test_amounts_are_read() -> None:
    assert [amount(v) for v in (5, "5%", "5", "x")] == [5, 5, 5, 0]
