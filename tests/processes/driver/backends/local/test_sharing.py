from hypothesis import given, strategies as st

from plimsoll.processes.driver.backends.local.sharing import shared_fairly


def test_a_modest_disk_leaves_its_part_to_the_others() -> None:
    assert shared_fairly(90, {"a": 10, "b": 100, "c": 100}) == {"a": 10, "b": 40, "c": 40}


def test_enough_for_all_is_what_all_want() -> None:
    assert shared_fairly(500, {"a": 10, "b": 100}) == {"a": 10, "b": 100}


@given(
    free_bytes=st.integers(-10, 1000),
    wanted=st.dictionaries(st.sampled_from("abcde"), st.integers(0, 500), min_size=1),
)
def test_no_more_is_given_than_there_is_and_nothing_wanted_is_kept_back(
    free_bytes: int, wanted: dict[str, int]
) -> None:
    shares = shared_fairly(free_bytes, wanted)
    assert shares.keys() == wanted.keys()
    assert all(0 <= shares[name] <= wanted[name] for name in wanted)
    assert sum(shares.values()) <= max(0, free_bytes)
    # What is left over is less than one byte for each who wants more.
    unmet = [name for name in wanted if shares[name] < wanted[name]]
    assert not unmet or max(0, free_bytes) - sum(shares.values()) < len(unmet)
