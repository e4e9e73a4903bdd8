"""What the lease of a publisher says, and who understands it."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.api.typed import from_document
from plimsoll.decide.capacity.freshness import (
    Freshness,
    PublisherHeartbeat,
    decide_lease,
    find_freshness,
    publisher_lease,
    publisher_of,
)
from plimsoll.decide.capacity.names import OLDEST_REPORT, PURPOSE, UNANSWERED
from plimsoll.decide.capacity.reports import CapacitySettings
from plimsoll.decide.plan import Create, Patch
from tests.builders import DRIVER, meta

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SETTINGS = CapacitySettings(driver=DRIVER, publisher="external-provisioner", namespace="plimsoll")
LOOK = PublisherHeartbeat(
    holder="provisioner-0",
    began_at=NOW - 60 * MINUTE,
    looked_at=NOW,
    lasts=2 * MINUTE,
    oldest_report_at=NOW - 5 * MINUTE,
    unanswered=3,
)


def a_lease() -> Lease:
    (write,) = decide_lease(None, LOOK, SETTINGS).writes
    assert isinstance(write, Create)
    return from_document(Lease, write.document)


def test_what_is_written_is_what_is_read() -> None:
    lease = a_lease()
    assert lease.key == publisher_lease(SETTINGS)
    assert publisher_of(lease) == ("plimsoll", DRIVER, "external-provisioner")
    assert find_freshness(lease) == Freshness(
        holder="provisioner-0",
        looked_at=NOW,
        lasts=2 * MINUTE,
        oldest_report_at=NOW - 5 * MINUTE,
        unanswered=3,
    )


def test_a_lease_that_is_there_is_renewed_by_a_patch() -> None:
    existing = Lease(metadata=meta("lease", "plimsoll"))
    (write,) = decide_lease(existing, LOOK, SETTINGS).writes
    assert isinstance(write, Patch)
    assert write.key == publisher_lease(SETTINGS)
    assert write.uid == existing.uid
    assert write.patch["spec"]["renewTime"] == "2024-01-01T12:00:00.000000Z"
    assert write.patch["metadata"]["annotations"][UNANSWERED] == "3"


def test_without_any_report_yet_an_older_remark_is_taken_away() -> None:
    heartbeat = PublisherHeartbeat(holder="p", began_at=NOW, looked_at=NOW, lasts=MINUTE)
    (created,) = decide_lease(None, heartbeat, SETTINGS).writes
    assert isinstance(created, Create)
    assert OLDEST_REPORT not in created.document["metadata"]["annotations"]
    (patched,) = decide_lease(a_lease(), heartbeat, SETTINGS).writes
    assert isinstance(patched, Patch)
    assert patched.patch["metadata"]["annotations"][OLDEST_REPORT] is None


def test_each_publisher_has_its_own() -> None:
    other = CapacitySettings(
        driver=DRIVER, publisher="external-provisioner-n1", namespace="plimsoll"
    )
    assert publisher_lease(other) != publisher_lease(SETTINGS)


@pytest.mark.parametrize(
    ("ago", "is_stale"),
    [
        pytest.param(MINUTE, False, id="in-time"),
        pytest.param(2 * MINUTE, False, id="just-in-time"),
        pytest.param(3 * MINUTE, True, id="too-late"),
    ],
)
def test_numbers_that_no_publisher_looks_after_are_stale(ago: timedelta, is_stale: bool) -> None:  # noqa: FBT001  what is expected
    freshness = find_freshness(a_lease())
    assert freshness is not None
    assert freshness.is_stale(NOW + ago) is is_stale


def test_the_leases_of_leaders_are_none_of_publishers() -> None:
    leader = Lease(metadata=meta("disk-example-com", "plimsoll"))
    assert publisher_of(leader) is None
    assert find_freshness(leader) is None
    assert leader.key == ObjectKey("plimsoll", "disk-example-com")


@pytest.mark.parametrize("text", ["", "yesterday", "-1", "2024-01-01T00:00:00", "²"])
def test_remarks_that_make_no_sense_say_nothing(text: str) -> None:
    lease = a_lease()
    metadata = msgspec.structs.replace(
        lease.metadata,
        labels={PURPOSE: "capacity"},
        annotations={OLDEST_REPORT: text, UNANSWERED: text},
    )
    found = find_freshness(msgspec.structs.replace(lease, metadata=metadata))
    assert found is not None
    assert (found.oldest_report_at, found.unanswered) == (None, 0)
