"""Writers at full speed that remember exactly what they were promised.

An acknowledged write must survive anything; a write that was under way when the server died may
have happened or not, and nothing in between.
"""

import http.client
import itertools
import json
import random
import threading
from dataclasses import dataclass, field
from typing import Any

from tests.servers import Endpoint

MERGE_PATCH = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as far as these tests can tell two versions apart."""

    version: int
    text: str


def stored(document: dict[str, Any]) -> Stored:
    return Stored(int(document["metadata"]["resourceVersion"]), document["data"]["text"])


@dataclass(slots=True)
class Promise:
    """What is known about one name."""

    acknowledged: Stored | None = None
    """None: not there, because it was never made or its deletion was acknowledged."""
    under_way: str | None = None
    """The text of a write without an answer; empty for a deletion; None when there is none."""

    def is_kept_by(self, found: Stored | None) -> bool:
        if found == self.acknowledged:
            return True
        if self.under_way is None:
            return False
        return found is None if self.under_way == "" else self._is_the_write(found)

    def _is_the_write(self, found: Stored | None) -> bool:
        newer = self.acknowledged.version if self.acknowledged else 0
        return found is not None and found.text == self.under_way and found.version > newer


@dataclass(frozen=True, slots=True)
class Write:
    method: str
    path: str
    text: str
    """What the object will say afterwards; empty for a deletion."""
    body: Any


@dataclass
class Writer(threading.Thread):
    """Creates, patches and deletes config maps of its own until the server stops answering."""

    endpoint: Endpoint
    collection: str
    number: int
    chance: random.Random
    promises: dict[str, Promise] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._texts = itertools.count()

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        connection = self.endpoint.connect()
        try:
            while True:
                self._write_once(connection)
        except (OSError, http.client.HTTPException):
            return  # the server is gone: what is under way stays unknown
        finally:
            connection.close()

    def _write_once(self, connection: http.client.HTTPSConnection) -> None:
        name = f"w{self.number}-{self.chance.randrange(500)}"
        promise = self.promises.setdefault(name, Promise())
        self._send(connection, promise, self._next_write(name, promise))

    def _next_write(self, name: str, promise: Promise) -> Write:
        one = f"{self.collection}/{name}"
        if promise.acknowledged is not None and self.chance.random() < 0.2:
            return Write("DELETE", one, "", None)
        # Some large, some small: pages of the file are split and joined.
        text = f"{next(self._texts)}-" + "x" * self.chance.choice((10, 100, 5_000))
        if promise.acknowledged is not None:
            return Write("PATCH", one, text, {"data": {"text": text}})
        body = {"metadata": {"name": name}, "data": {"text": text}}
        return Write("POST", self.collection, text, body)

    def _send(
        self, connection: http.client.HTTPSConnection, promise: Promise, write: Write
    ) -> None:
        promise.under_way = write.text
        headers = self.endpoint.headers()
        if write.method == "PATCH":
            headers["Content-Type"] = MERGE_PATCH
        payload = None if write.body is None else json.dumps(write.body)
        connection.request(write.method, write.path, body=payload, headers=headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
        promise.under_way = None
        if response.status not in (200, 201):
            self.refusals.append(f"{write.method} {write.path}: {response.status} {answer}")
        else:
            promise.acknowledged = stored(answer) if write.text else None
