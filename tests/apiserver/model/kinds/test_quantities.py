import pytest

from plimsoll.apiserver.model.kinds.quantities import (
    basic_resource_errors,
    has_fraction,
    positive_errors,
    quantity_errors,
    round_up_resources,
    whole_errors,
)


@pytest.mark.parametrize(
    ("text", "negative", "not_positive"),
    [("1Gi", False, False), ("0", False, True), ("-1", True, True), ("1m", False, False)],
)
def test_amounts_are_judged_by_their_sign(text: str, *, negative: bool, not_positive: bool) -> None:
    assert bool(list(quantity_errors(text, "f"))) is negative
    assert bool(list(basic_resource_errors(text, "f"))) is negative
    assert bool(list(positive_errors(text, "f"))) is not_positive


@pytest.mark.parametrize(
    ("text", "fraction"),
    [
        pytest.param("1Gi", False, id="whole"),
        pytest.param("107374182400m", True, id="thousandths"),
        pytest.param("10Pi", True, id="beyond-64-bits-of-thousandths"),
        pytest.param("1E", False, id="beyond-them-and-lost"),
    ],
)
def test_fractions_of_bytes_are_seen_as_the_api_sees_them(text: str, *, fraction: bool) -> None:
    assert has_fraction(text) is fraction
    assert bool(list(whole_errors(text, "f"))) is fraction


def test_amounts_finer_than_thousandths_are_rounded_up() -> None:
    resources = {"storage": "100n", "cpu": "250m", "other": "1.5Gi"}

    round_up_resources(resources)

    assert resources == {"storage": "1m", "cpu": "250m", "other": "1536Mi"}


def test_without_resources_there_is_nothing_to_round() -> None:
    round_up_resources(None)
