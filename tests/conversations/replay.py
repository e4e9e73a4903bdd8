"""Which conversations are played, against which server, and how the outcome is told.

The comparison itself lives in `player.py` and is not ours to bend: a difference it finds is a
difference. One is known beforehand: our server warns of what it stores and does not enforce.
"""

import argparse
import collections
import http.client
import json
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from plimsoll.apiserver.admission.warnings import not_enforced
from tests.conversations import player
from tests.servers import Endpoint

ORACLE = Path(__file__).parents[1] / "oracle"
CORPUS = ORACLE / "api-conversations.jsonl.gz"
COMPACTION = ORACLE / "api-compaction.jsonl.gz"
OF_A_LATER_VERSION = re.compile(r"/csinodes/[^/]+/status$")
"""Paths that Kubernetes 1.36 does not have, and the recorded server, a version later, has."""

BYSTANDER: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "zz-of-another-client"},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "other.example.com", "volumeHandle": "other"},
    },
}
"""The recorded server had volumes of other clients: a list in pages promises another page then."""

Conversation = dict[str, Any]
Failure = dict[str, Any]

_all_warnings: Callable[[Any], list[str]] = player.warnings


def _warnings(headers: Any) -> list[str]:
    """Without those that a server has no reason for that enforces what it stores."""
    return [text for text in _all_warnings(headers) if not text.startswith(not_enforced.START)]


player.warnings = _warnings

# The player carries no types: these lines say what it takes and gives.
_play: Callable[[Conversation, Any, argparse.Namespace], list[Failure]] = player.play
_load: Callable[[list[str]], Iterable[Conversation]] = player.load
_client: Callable[[str, str, str], Any] = player.Client


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which conversations, and how strictly they are compared."""

    only: str = ""
    """A regular expression that the id or one of the tags must contain."""
    strict_text: bool = False
    jobs: int = 4

    def covers(self, conversation: Conversation) -> bool:
        words = [conversation["id"], *conversation["tags"]]
        return any(re.search(self.only, word) for word in words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    conversation: Conversation
    failures: list[Failure]

    @property
    def steps(self) -> int:
        return len(self.conversation["steps"])


DUE = Choice()


def topic(conversation: Conversation) -> str:
    name: str = conversation["tags"][0]
    return name


def conversations(files: Iterable[Path], choice: Choice = DUE) -> list[Conversation]:
    """Without the steps that ask for what the version that we serve does not have."""
    return [_due(talk) for talk in _load([str(file) for file in files]) if choice.covers(talk)]


def _due(talk: Conversation) -> Conversation:
    steps = [step for step in talk["steps"] if not OF_A_LATER_VERSION.search(_path(step))]
    return {**talk, "steps": steps}


def _path(step: dict[str, Any]) -> str:
    path: str = step.get("request", {}).get("path", "")
    return path


def replay(talks: Iterable[Conversation], endpoint: Endpoint, choice: Choice = DUE) -> list[Played]:
    """Plays them all; those that need the server for themselves come last, one by one."""
    talks = list(talks)
    client = _client(endpoint.url, endpoint.token, str(endpoint.authority))
    opened = _remember_connections(client)
    options = argparse.Namespace(strict_text=choice.strict_text, no_managed_fields=False)
    _add_bystander(client)

    def play(talk: Conversation) -> Played:
        return Played(conversation=talk, failures=_play(talk, client, options))

    try:
        with ThreadPoolExecutor(choice.jobs) as pool:
            played = list(pool.map(play, [talk for talk in talks if not talk.get("exclusive")]))
        return played + [play(talk) for talk in talks if talk.get("exclusive")]
    finally:
        for connection in opened:
            connection.close()


def _add_bystander(client: Any) -> None:
    """Its name comes after those of all conversations; a second replay finds it there."""
    headers = {"Authorization": f"Bearer {client.token}", "Content-Type": "application/json"}
    body = json.dumps(BYSTANDER).encode()
    status, _, answer = client.send("POST", "/api/v1/persistentvolumes", headers, body)
    if status not in (HTTPStatus.CREATED, HTTPStatus.CONFLICT):
        raise RuntimeError(f"the server does not take a volume: {status} {answer.decode()}")


def _remember_connections(client: Any) -> list[http.client.HTTPConnection]:
    """The player leaves its connections to the garbage collector; we do not."""
    opened = []
    fresh = client.fresh

    def remembered(timeout: float) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection = fresh(timeout)
        opened.append(connection)
        return connection

    client.fresh = remembered
    return opened


def table(played: Iterable[Played]) -> Iterator[str]:
    """Conversations and steps without a difference, by topic and in total."""
    by_topic = collections.defaultdict(list)
    for each in played:
        by_topic[topic(each.conversation)].append(each)
    yield f"{'topic':<24} {'conversations':>14} {'steps':>14}"
    for name, group in sorted(by_topic.items()):
        yield _row(name, group)
    yield _row("TOTAL", [each for group in by_topic.values() for each in group])


def _row(name: str, group: list[Played]) -> str:
    steps = sum(each.steps for each in group)
    good_steps = steps - sum(len(each.failures) for each in group)
    good = sum(not each.failures for each in group)
    return f"{name:<24} {good:>6}/{len(group):<7} {good_steps:>6}/{steps:<7}"


def share_of_good_steps(played: Iterable[Played]) -> float:
    played = list(played)
    steps = sum(each.steps for each in played)
    return 1 - sum(len(each.failures) for each in played) / steps if steps else 1.0


def differences(played: Iterable[Played], *, each_at_most: int = 3) -> Iterator[str]:
    """The first differences of every conversation that has any, as lines to read."""
    for one in played:
        if one.failures:
            yield f"FAIL {one.conversation['id']}"
        for failure in one.failures[:each_at_most]:
            request = failure["request"] or {}
            yield f"   step {failure['step']} {request.get('method')} {request.get('path')}"
            yield from (f"      {line}" for line in failure["diffs"][:each_at_most])


def write_report(played: Iterable[Played], file: Path) -> None:
    failures = {each.conversation["id"]: each.failures for each in played if each.failures}
    file.write_text(json.dumps(failures, indent=1))
