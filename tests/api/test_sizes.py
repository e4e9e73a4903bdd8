import pytest

from plimsoll.api.sizes import parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("10Gi", 10 << 30), ("1.5Gi", 3 << 29), ("500M", 500_000_000), ("-1Ki", -1024)],
)
def test_a_size_has_a_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("5", "'5' has no unit; write it like 5Gi or 5Mi", id="bare-number"),
        pytest.param("500m", "'500m' is no size; write it like 10Gi", id="thousandths"),
        pytest.param("1e9", "is no size", id="exponent"),
        pytest.param("much", "is no size", id="word"),
        pytest.param("10GB", "is no size", id="unit-of-another-kind"),
        pytest.param("", "is no size", id="nothing"),
        pytest.param("\u0663Gi", "is no size", id="digits-of-another-script"),
    ],
)
def test_what_is_no_size_is_refused_with_an_example(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parse_size(text)
