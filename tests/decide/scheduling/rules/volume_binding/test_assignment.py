from itertools import product

from hypothesis import given, strategies as st

from plimsoll.decide.scheduling.rules.volume_binding.assignment import Option, assign

NAMES = ["a", "b", "c", "d"]


def choices(sizes: dict[str, int], wanted: int) -> list[Option]:
    """A claim could have every volume that is large enough."""
    return [Option(size - wanted, name) for name, size in sizes.items() if size >= wanted]


def best(options: list[list[Option]], required: list[bool]) -> tuple[Option | None, ...] | None:
    """Every answer is looked at."""
    possible = []
    for answer in product(*([*found, None] for found in options)):
        names = [option.name for option in answer if option]
        is_served = all(option or not must for option, must in zip(answer, required, strict=True))
        if len(set(names)) == len(names) and is_served:
            waste = sum(option.waste for option in answer if option)
            order = tuple(option.name if option else "~" for option in answer)
            possible.append((-len(names), waste, order, answer))
    return min(possible, key=lambda each: each[:3])[3] if possible else None


OPTIONS = st.lists(
    st.lists(
        st.builds(Option, st.integers(0, 3), st.sampled_from(NAMES)),
        max_size=4,
        unique_by=lambda option: option.name,
    ),
    max_size=4,
)


@given(options=OPTIONS, data=st.data())
def test_no_other_assignment_is_better(options: list[list[Option]], data: st.DataObject) -> None:
    required = data.draw(
        st.lists(st.booleans(), min_size=len(options), max_size=len(options)), label="required"
    )

    assert assign(options, required) == best(options, required)


def test_a_claim_leaves_the_volume_that_only_another_can_use() -> None:
    small, large = choices({"big": 10, "huge": 20}, 1), choices({"big": 10}, 10)

    assert assign([small, large], [True, True]) == (Option(19, "huge"), Option(0, "big"))


def test_a_claim_for_which_a_volume_can_be_made_steps_back() -> None:
    sizes = {"only": 10}

    found = assign([choices(sizes, 1), choices(sizes, 10)], [False, True])

    assert found == (None, Option(0, "only"))
    assert assign([choices(sizes, 1), choices(sizes, 10)], [True, True]) is None


def test_many_claims_are_no_problem() -> None:
    sizes = {f"v{number:02}": number + 1 for number in range(30)}

    found = assign([choices(sizes, wanted + 1) for wanted in range(30)], [True] * 30)

    assert found is not None
    assert [option.name for option in found if option] == sorted(sizes)


def test_nothing_can_be_had_where_nothing_is() -> None:
    assert assign([], []) == ()
    assert assign([[]], [False]) == (None,)
    assert assign([[]], [True]) is None
