import numpy as np
from hypothesis import given, strategies as st

from plimsoll.decide.scheduling.preemption.returning import find_leaving, leaving

amounts = st.tuples(st.integers(0, 5), st.integers(0, 5))


def test_pods_come_back_in_their_order_as_long_as_there_is_room() -> None:
    assert find_leaving([4, 9], [(3, 1), (2, 1), (1, 1)]) == [1]


def test_no_pod_comes_back_where_there_is_no_room_for_the_waiting_pod() -> None:
    assert find_leaving([-1], [(0,), (0,)]) == [0, 1]


@given(free=amounts, taken=st.lists(amounts, max_size=6))
def test_many_nodes_at_once_agree_with_each_by_itself(
    free: tuple[int, int], taken: list[tuple[int, int]]
) -> None:
    table = np.array(taken, np.int64).reshape(len(taken), 2)

    goes = leaving(np.array(free)[:, None], table.T[:, :, None])

    assert np.flatnonzero(goes[:, 0]).tolist() == find_leaving(free, taken)
