from plimsoll.decide.claims.reasons import BindingReason


def test_reasons_are_written_as_events_have_them() -> None:
    assert all(reason.isalnum() and reason[0].isupper() for reason in BindingReason)
