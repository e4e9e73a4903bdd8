"""What was played as a table, and the sums that the last line tells."""

from collections.abc import Iterator, Sequence

from bench.hostpath.play import Played
from bench.hostpath.workload import DEFAULT, SETTINGS, Setting

HEAD = (
    f"{'workload':<44} {'setting':<11} {'running':>13} {'s':>7} {'pods/s':>7}"
    f" {'failed':>7} {'requests':>8} {'writes':>7} {'records':>7} {'cpu ms':>7}"
)


def table(played: Sequence[Played]) -> Iterator[str]:
    """Requests, writes, those of them that keep intents and groups, and processor time are of all
    processes, for each pod that runs."""
    yield HEAD
    yield from (_row(each) for each in played)


def _row(played: Played) -> str:
    load, cost = played.load, played.cost
    running = len(played.running_at)
    each = max(running, 1)
    return (
        f"{load!s:<44} {played.setting.name:<11} {f'{running} of {load.pods}':>13}"
        f" {played.seconds:>7.1f} {running / max(played.seconds, 0.001):>7.1f}"
        f" {played.failed_creates:>7} {cost.requests / each:>8.1f} {cost.writes / each:>7.1f}"
        f" {cost.record_writes / each:>7.1f} {1000 * cost.cpu_seconds / each:>7.1f}"
    )


def last_line(played: Sequence[Played]) -> str:
    """A setting that was not played has no number."""
    told = (f"{name} {_failed(played, setting)}" for name, setting in SETTINGS.items())
    return f"failed creates: {', '.join(told)}"


def _failed(played: Sequence[Played], setting: Setting) -> str:
    found = [each.failed_creates for each in played if each.setting == setting]
    return str(sum(found)) if found else "-"


def is_promise_kept(played: Sequence[Played]) -> bool:
    """By the default policy all pods run, and no driver was asked for what it does not have."""
    ours = [each for each in played if each.setting == DEFAULT]
    return all(each.is_complete and each.failed_creates == 0 for each in ours)
