"""Replays recorded conversations: against a server of our own, or any that is named."""

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.conversations import replay
from tests.servers import EmbeddedServer, Endpoint


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conversations", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="recordings; by default our own")
    parser.add_argument("--only", default="", help="regular expression on conversation id or tag")
    parser.add_argument("--server", help="URL of a running server; by default one is started")
    parser.add_argument("--token", help="the administrator's bearer token")
    parser.add_argument("--ca", type=Path, help="the file with the server's authority")
    parser.add_argument("--history-seconds", type=int, help="of the server that is started")
    parser.add_argument("--strict-text", action="store_true", help="compare messages as well")
    parser.add_argument("--jobs", type=int, default=4, help="conversations at the same time")
    parser.add_argument("--max-diffs", type=int, default=3, help="shown per conversation and step")
    parser.add_argument("--report", type=Path, help="write every difference to this JSON file")
    arguments = parser.parse_args()
    if arguments.server and not (arguments.token and arguments.ca):
        parser.error("--server needs --token and --ca")
    return arguments


@contextlib.contextmanager
def server(arguments: argparse.Namespace) -> Iterator[Endpoint]:
    with tempfile.TemporaryDirectory(prefix="plimsoll-") as name:
        if arguments.server:
            yield Endpoint(
                url=arguments.server,
                token=arguments.token,
                authority=arguments.ca,
                kubeconfig=Path(name) / "none",
            )
            return
        flags = []
        if arguments.history_seconds is not None:
            flags = ["--history-seconds", str(arguments.history_seconds)]
        with EmbeddedServer(Path(name), *flags) as embedded:
            yield embedded.endpoint


def main() -> int:
    arguments = parsed_arguments()
    choice = replay.Choice(
        only=arguments.only,
        strict_text=arguments.strict_text,
        jobs=arguments.jobs,
    )
    talks = replay.conversations(arguments.files or [replay.CORPUS], choice)
    if not talks:
        print("no conversation matches", file=sys.stderr)
        return 1
    with server(arguments) as endpoint:
        played = replay.replay(talks, endpoint, choice)
    for line in replay.differences(played, each_at_most=arguments.max_diffs):
        print(line)
    for line in replay.table(played):
        print(line)
    if arguments.report:
        replay.write_report(played, arguments.report)
    return 1 if any(each.failures for each in played) else 0


if __name__ == "__main__":
    sys.exit(main())
