from datetime import UTC, datetime

import pytest

from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.wire.csi.epochs import epoch_metadata, parse_epoch
from plimsoll.wire.csi.transport import Metadata

EPOCH = LeaderEpoch(
    lease="storage/driver",
    lease_created_at=datetime(2030, 1, 31, 12, tzinfo=UTC),
    transitions=4,
)


def test_an_epoch_arrives_as_it_was_sent() -> None:
    metadata = epoch_metadata(EPOCH)
    assert metadata == {
        "plimsoll-lease": "storage/driver",
        "plimsoll-epoch": "2030-01-31T12:00:00Z/4",
    }
    assert parse_epoch({**metadata, "user-agent": "grpc"}) == EPOCH


def test_a_process_without_a_lease_names_no_epoch() -> None:
    assert epoch_metadata(None) == {}
    assert parse_epoch({"user-agent": "grpc"}) is None


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"plimsoll-lease": "a/b"}, id="no-epoch"),
        pytest.param({"plimsoll-epoch": "2030-01-31T12:00:00Z/4"}, id="no-lease"),
        pytest.param(
            {"plimsoll-lease": "", "plimsoll-epoch": "2030-01-31T12:00:00Z/4"}, id="empty"
        ),
        pytest.param({"plimsoll-lease": "a/b", "plimsoll-epoch": "4"}, id="no-time"),
        pytest.param({"plimsoll-lease": "a/b", "plimsoll-epoch": "2030-01-31/4"}, id="no-zone"),
        pytest.param(
            {"plimsoll-lease": "a/b", "plimsoll-epoch": "2030-01-31T12:00:00Z/-1"}, id="negative"
        ),
        pytest.param(
            {"plimsoll-lease": "x" * 400, "plimsoll-epoch": "2030-01-31T12:00:00Z/4"}, id="long"
        ),
    ],
)
def test_what_is_no_epoch_is_told(metadata: Metadata) -> None:
    with pytest.raises(ValueError, match="metadata: plimsoll-"):
        parse_epoch(metadata)
