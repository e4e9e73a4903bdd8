"""A watch as its client sees it: events in order, then silence, an error, or a cut connection."""

import http.client
import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from tests.servers import Endpoint

GONE = 410
SEEN_WITHIN_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Change:
    type: str
    name: str
    version: int


@dataclass(slots=True)
class Watched:
    changes: list[Change] = field(default_factory=list)
    error_code: int | None = None
    """The code of an error answer or ERROR event that ended the watch."""


def read_watch(endpoint: Endpoint, path: str, into: Watched, *, timeout: float = 30) -> Watched:
    """Reads until the server ends the watch or the connection breaks."""
    connection = endpoint.connect(timeout)
    try:
        connection.request("GET", path, headers=endpoint.headers())
        response = connection.getresponse()
        if response.status != http.client.OK:
            into.error_code = response.status
            return into
        for line in response:
            if not _take(json.loads(line), into):
                break
    except (OSError, http.client.HTTPException, ValueError):
        pass  # cut off in the middle, perhaps of a line: what was read before counts
    finally:
        connection.close()
    return into


def _take(event: dict[str, Any], into: Watched) -> bool:
    """Whether the watch goes on after this event."""
    subject = event["object"]
    if event["type"] == "ERROR":
        into.error_code = subject["code"]
        return False
    if event["type"] != "BOOKMARK":
        metadata = subject["metadata"]
        into.changes.append(
            Change(event["type"], metadata["name"], int(metadata["resourceVersion"]))
        )
    return True


class WatchThread(threading.Thread):
    """A watch that is read while others write."""

    def __init__(self, endpoint: Endpoint, path: str) -> None:
        super().__init__(daemon=True)
        self._endpoint = endpoint
        self._path = path
        self.watched = Watched()

    def run(self) -> None:
        read_watch(self._endpoint, self._path, self.watched)

    def wait_for(self, changes: int) -> None:
        """Until it has read so many, or is over: on a busy machine the first one takes its time."""
        give_up_at = time.monotonic() + SEEN_WITHIN_SECONDS
        while self.is_alive() and len(self.watched.changes) < changes:
            assert time.monotonic() < give_up_at, "the watch tells of no changes"
            time.sleep(0.02)


def versions_after(start: dict[str, int], changes: list[Change]) -> dict[str, int]:
    """The mirror a client would hold: versions by name, after these changes."""
    mirror = dict(start)
    for change in changes:
        if change.type == "DELETED":
            mirror.pop(change.name, None)
        else:
            mirror[change.name] = change.version
    return mirror
