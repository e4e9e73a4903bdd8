import pytest

from plimsoll.api.cron_schedules import is_schedule


@pytest.mark.parametrize(
    "text", ["* * * * *", "*/5 0-3,7 1 jan mon-fri", "@hourly", "@every 90m", "0 0 ? * sun"]
)
def test_schedules_as_cron_and_kubernetes_write_them(text: str) -> None:
    assert is_schedule(text)


@pytest.mark.parametrize(
    "text",
    ["", "* * * *", "60 * * * *", "5-1 * * * *", "*/0 * * * *", "@sometimes", "\u0663 * * * *"],
)
def test_what_is_no_schedule(text: str) -> None:
    assert not is_schedule(text)
