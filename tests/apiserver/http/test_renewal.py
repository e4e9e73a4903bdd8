"""Certificates end; a server that runs for years must not."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.apiserver.http.certificates import (
    AUTHORITY_LIFE,
    LEAF_LIFE,
    ServerCredentials,
    UnreadableKeysError,
    load_or_create,
)
from plimsoll.apiserver.http.renewal import keep_current
from plimsoll.runtime.clock import SteppedClock

DAY = timedelta(days=1)
LEAVES = ["server.crt", "server.key", "admin.crt", "admin.key"]


async def renewals(
    directory: Path, clock: SteppedClock, duration: timedelta
) -> list[ServerCredentials]:
    seen: list[ServerCredentials] = []
    task = asyncio.ensure_future(keep_current(directory, clock, seen.append))
    await clock.run(duration)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return seen


async def test_a_running_server_renews_its_certificate_in_time(tmp_path: Path) -> None:
    clock = SteppedClock()
    load_or_create(tmp_path, clock.now())
    assert await renewals(tmp_path, clock, LEAF_LIFE - 40 * DAY) == []
    assert len(await renewals(tmp_path, clock, 20 * DAY)) == 1


async def test_a_renewal_that_fails_is_tried_again(tmp_path: Path) -> None:
    clock = SteppedClock()
    load_or_create(tmp_path, clock.now())
    clock.advance(LEAF_LIFE - DAY)
    authority = (tmp_path / "ca.key").read_bytes()
    (tmp_path / "ca.key").write_bytes(b"damaged")
    task = asyncio.ensure_future(keep_current(tmp_path, clock, lambda _: renewed.set()))
    renewed = asyncio.Event()
    await clock.run(DAY)
    assert not renewed.is_set()
    (tmp_path / "ca.key").write_bytes(authority)
    await clock.run(DAY)
    assert renewed.is_set()
    task.cancel()


def test_an_authority_that_is_about_to_end_is_made_anew(tmp_path: Path) -> None:
    now = SteppedClock().now()
    load_or_create(tmp_path, now)
    before = (tmp_path / "ca.crt").read_bytes()
    load_or_create(tmp_path, now + AUTHORITY_LIFE - DAY)
    assert (tmp_path / "ca.crt").read_bytes() != before


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe garbage", None])
@pytest.mark.parametrize("name", LEAVES)
def test_what_the_authority_signs_mends_itself(
    tmp_path: Path, name: str, damage: bytes | None
) -> None:
    """None stands for a crash between a new key and its certificate."""
    now = SteppedClock().now()
    made = load_or_create(tmp_path, now)
    other = load_or_create(tmp_path / "other", now)
    content = (other.authority.parent / name).read_bytes() if damage is None else damage
    (tmp_path / name).write_bytes(content)
    assert load_or_create(tmp_path, now) == made
    assert (tmp_path / name).read_bytes() != content


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe garbage"])
@pytest.mark.parametrize("name", ["ca.crt", "ca.key"])
def test_a_damaged_authority_is_reported_and_left_alone(
    tmp_path: Path, name: str, damage: bytes
) -> None:
    now = SteppedClock().now()
    load_or_create(tmp_path, now)
    (tmp_path / name).write_bytes(damage)
    with pytest.raises(UnreadableKeysError, match=r"ca\.crt and ca\.key"):
        load_or_create(tmp_path, now)
    assert (tmp_path / name).read_bytes() == damage


def test_a_token_that_no_header_could_carry_is_replaced(tmp_path: Path) -> None:
    now = SteppedClock().now()
    load_or_create(tmp_path, now)
    (tmp_path / "admin.token").write_bytes(b"\xff\xfe")
    assert len(load_or_create(tmp_path, now).admin_token) >= 40
