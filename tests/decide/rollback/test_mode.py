from plimsoll.decide.rollback.mode import RollbackMode


def test_modes_are_spelled_as_the_flag_takes_them() -> None:
    assert list(RollbackMode) == ["off", "dry-run", "on"]
