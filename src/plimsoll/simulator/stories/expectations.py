"""Expectations that every story has of its cluster: where one does not hold, the story fails."""

from collections.abc import Iterator

from plimsoll.runtime.metrics import Metrics

RESTARTS = "plimsoll_loop_restarts_total"


class BrokenExpectationError(AssertionError):
    """The program did what no story may see; the message says what."""


def expect(said: str, *, holds: bool) -> None:
    if not holds:
        raise BrokenExpectationError(said)


def samples(metrics: Metrics, start: str) -> Iterator[float]:
    """The values of those whose lines begin like this."""
    for line in metrics.exposition().decode().splitlines():
        if line.startswith(start):
            yield float(line.rpartition(" ")[2])


def expect_no_restarts(metrics: Metrics) -> None:
    """A loop that was started again met with a bug."""
    expect("a loop was started again", holds=not any(samples(metrics, RESTARTS)))
