"""What the run that kills a cluster at random takes for growth."""

from conformance.kills.soak import MEBIBYTE, is_flat, warm_halves


def test_memory_that_rises_all_the_time_is_not_flat() -> None:
    rising = [(60 + second) * MEBIBYTE for second in range(60)]
    assert not is_flat(*warm_halves(rising))


def test_a_warm_up_and_single_peaks_are_no_growth() -> None:
    warming = [second * MEBIBYTE for second in range(20)]
    steady = [70 * MEBIBYTE, 71 * MEBIBYTE, 300 * MEBIBYTE, 69 * MEBIBYTE] * 10
    assert is_flat(*warm_halves(warming + steady))
