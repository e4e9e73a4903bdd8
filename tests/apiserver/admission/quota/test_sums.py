"""A sum forgets what was taken out of it, and does not depend on the order of what is in it."""

from random import Random

from hypothesis import given, strategies as st

from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.apiserver.admission.quota.sums import Sum

WRITTEN = st.sampled_from(
    ["0", "1", "100m", "1n", "1500M", "5Gi", "512Mi", "1e3", "3E", "1e41", "7e60", "1e999999999"]
)
AMOUNTS = st.lists(WRITTEN.map(parse_quantity), max_size=8)


def summed(amounts: list[Quantity]) -> Sum:
    made = Sum()
    for amount in amounts:
        made.add(amount)
    return made


def test_small_amounts_are_not_lost_beside_large_ones() -> None:
    made = summed([parse_quantity("3E"), parse_quantity("1n")])
    made.take(parse_quantity("3E"))
    assert str(made.total) == "1n"


def test_a_sum_is_written_as_sizes_if_one_of_its_amounts_is() -> None:
    amounts = [parse_quantity("1024"), parse_quantity("1Ki")]
    assert str(summed(amounts).total) == str(summed(amounts[::-1]).total) == "2Ki"


@given(kept=AMOUNTS, taken=AMOUNTS, chance=st.randoms(use_true_random=False))
def test_what_was_taken_out_leaves_no_trace(
    kept: list[Quantity], taken: list[Quantity], chance: Random
) -> None:
    made = summed(chance.sample(kept + taken, len(kept) + len(taken)))
    for amount in taken:
        made.take(amount)
    assert str(made.total) == str(summed(kept).total)


@given(amounts=st.lists(st.sampled_from(["1", "100m", "2k", "3M"]).map(parse_quantity), max_size=8))
def test_amounts_that_people_write_add_up_as_quantities_do(amounts: list[Quantity]) -> None:
    assert str(summed(amounts).total) == str(sum(amounts, start=Quantity(0)))


@given(amounts=AMOUNTS)
def test_a_copy_goes_its_own_way(amounts: list[Quantity]) -> None:
    made = summed(amounts)
    before = str(made.total)
    other = made.copy()
    other.add(parse_quantity("5"))
    assert str(made.total) == before
