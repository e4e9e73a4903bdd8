from collections import Counter

import numpy as np
from hypothesis import given, strategies as st

from plimsoll.decide.scheduling.flags import (
    BITS_BY_RULE,
    MEANINGS,
    RULES,
    Blocked,
    NodeRule,
    bits_of_first_rule,
    no_flags,
    of_first_rule,
    tally_of,
)
from plimsoll.decide.scheduling.reasons import Rule


def test_every_flag_has_a_meaning_and_they_come_in_the_order_of_the_rules() -> None:
    assert [*MEANINGS] == [flag for flag in Blocked if flag is not Blocked.NO_NODE]
    assert [rule for rule in RULES if rule in list(NodeRule)] == list(NodeRule)
    assert [rule for rule in RULES if rule in list(Rule)] == list(Rule)
    bits = list(BITS_BY_RULE.values())
    assert sum(bits) == sum(bits) | 0
    assert all(not left & right for left in bits for right in bits if left is not right)


def test_only_what_the_first_rule_says_is_counted() -> None:
    flags = no_flags(4)
    flags[0] = Blocked.CPU | Blocked.MEMORY | Blocked.ZONE
    flags[1] = Blocked.DELAYED_TOO_SMALL | Blocked.BOUND_AFFINITY | Blocked.ZONE
    flags[2] = Blocked.NO_NODE | Blocked.TOO_MANY_PODS

    assert of_first_rule(flags).tolist() == [
        Blocked.CPU | Blocked.MEMORY,
        Blocked.DELAYED_TOO_SMALL | Blocked.BOUND_AFFINITY,
        Blocked.NO_NODE,
        0,
    ]


@given(values=st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=60))
def test_flags_are_counted_and_read_one_by_one_as_in_arrays(values: list[int]) -> None:
    flags = np.array(values, np.uint64)

    assert tally_of(flags) == Counter(values)
    assert [*map(bits_of_first_rule, values)] == of_first_rule(flags).tolist()
