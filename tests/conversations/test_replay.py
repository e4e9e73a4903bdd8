"""The embedded server answers as the real one did, recorded conversation by conversation."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conversations import replay
from tests.servers import EmbeddedServer, Endpoint

# Half of what the recordings wait for, so that a compaction that runs late still runs in time.
SHORT_HISTORY = "4"
DUE = replay.conversations([replay.CORPUS])
TOPICS = sorted({replay.topic(talk) for talk in DUE})


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with EmbeddedServer(tmp_path_factory.mktemp("conversations")) as server:
        yield server.endpoint


def differences(played: list[replay.Played]) -> str:
    return "\n".join([*replay.differences(played), *replay.table(played)])


@pytest.mark.parametrize("topic", TOPICS)
def test_every_recorded_answer_is_given_again(topic: str, endpoint: Endpoint) -> None:
    played = replay.replay([talk for talk in DUE if replay.topic(talk) == topic], endpoint)
    assert all(not each.failures for each in played), differences(played)


def test_forgotten_history_is_refused_as_recorded(tmp_path: Path) -> None:
    talks = replay.conversations([replay.COMPACTION])
    with EmbeddedServer(tmp_path, "--history-seconds", SHORT_HISTORY) as server:
        played = replay.replay(talks, server.endpoint)
    assert all(not each.failures for each in played), differences(played)
