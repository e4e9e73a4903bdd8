from plimsoll.wire.csi.redaction import without_secrets


def test_a_driver_that_repeats_a_secret_is_not_quoted() -> None:
    told = without_secrets("login admin with hunter2 failed", {"key": "hunter2"})
    assert told == "login admin with *** failed"


def test_a_value_inside_another_leaves_nothing_of_the_longer_one() -> None:
    assert without_secrets("abcdef", {"short": "abc", "long": "abcdef"}) == "***"


def test_empty_values_change_nothing() -> None:
    assert without_secrets("as it was", {"nothing": ""}) == "as it was"
