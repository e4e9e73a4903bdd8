"""What is compared with the real programs, step by step.

A step says what it found by printing it, and that it failed by raising `StepFailedError`.
"""

import functools
import importlib
import inspect
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import uvloop

from conformance import (
    access_checks,
    controller_checks,
    kcm_checks,
    peers,
    policy_checks,
    scheduler_checks,
    speed,
)
from conformance.clients.steps import CLIENT_STEPS
from conformance.csi_steps import CSI_STEPS
from conformance.every_step import walk
from conformance.kills import run as killed_cluster, soak
from conformance.step import Say, Servers, Step, StepFailedError, StepSkippedError, tell
from conformance.suites.step import SUITE_STEPS
from tests.conversations import replay
from tests.servers import Endpoint

ROOT = Path(__file__).parents[1]
# The recordings come from a server one minor release ahead of the peer that can be built.
ENOUGH_ON_THE_PEER = 0.9
KILL_SECONDS, SOAK_SECONDS, STEP_SECONDS, SEED = 45, 25, 100, 7
"""The short form; `make kills` and `make kills-every-step` have the long one."""


def replay_on_the_real_server(servers: Servers) -> None:
    """Shows that the player and the recordings are sound; differences between releases are told."""
    played = replay.replay(replay.conversations([replay.CORPUS]), servers.real)
    _print(replay.table(played))
    differing = [each.conversation["id"] for each in played if each.failures]
    print(f"  differs from the recorded release in: {', '.join(differing)}")
    share = replay.share_of_good_steps(played)
    print(f"  {share:.1%} of all steps as recorded")
    if share < ENOUGH_ON_THE_PEER:
        raise StepFailedError(f"less than {ENOUGH_ON_THE_PEER:.0%}: is the player at fault?")


def replay_on_the_embedded_server(servers: Servers) -> None:
    played = replay.replay(replay.conversations([replay.CORPUS]), servers.embedded)
    _print(replay.differences(played))
    _print(replay.table(played))
    failed = sum(bool(each.failures) for each in played)
    if failed:
        raise StepFailedError(f"{failed} of {len(played)} conversations differ")


def client_on_both(servers: Servers) -> None:
    """Our client, cache, leader election and events, wherever they run."""
    for name, endpoint in (("real", servers.real), ("embedded", servers.embedded)):
        for check in _client_checks():
            title = check.__name__.removeprefix("check_").replace("_", " ")
            print(f"  {name}: {title}", flush=True)
            try:
                uvloop.run(_awaited(check(endpoint.kubeconfig)))
            except Exception as error:
                raise StepFailedError(f"{title}: {type(error).__name__}: {error}") from error


Check = Callable[[Path], Awaitable[None]]


def _client_checks() -> list[Check]:
    """Every `async def check_…(kubeconfig)` of the module, in the order of its lines."""
    module = importlib.import_module("conformance.client_checks")
    members = inspect.getmembers(module, inspect.iscoroutinefunction)
    checks = [function for name, function in members if name.startswith("check_")]
    return sorted(checks, key=lambda function: inspect.getsourcelines(function)[1])


async def _awaited(check: Awaitable[None]) -> None:
    await check


def kubectl_on_both(servers: Servers) -> None:
    """The same tests that users' habits are written down in, with the kubectl of this release."""
    for name, endpoint in (("real", servers.real), ("embedded", servers.embedded)):
        print(f"  {name}:", flush=True)
        environment = {
            **os.environ,
            "PLIMSOLL_KUBECONFIG": str(endpoint.kubeconfig),
            "PLIMSOLL_KUBECTL": str(peers.build(peers.KUBECTL)),
        }
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "tests/kubectl"]
        ended = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        if ended.returncode != 0:
            raise StepFailedError(f"kubectl against the {name} server")


def same_rights_on_both(servers: Servers) -> None:
    tell("both", functools.partial(access_checks.run, servers))


def our_controller_on_both(servers: Servers) -> None:
    """On the real server no kube-controller-manager runs beside it."""
    for name, endpoint in (("real", servers.real), ("embedded", servers.embedded)):
        _tell(name, endpoint, controller_checks.run)


def real_controllers_on_ours(servers: Servers) -> None:
    _tell("embedded", servers.embedded, kcm_checks.run)


def our_scheduler_on_both(servers: Servers) -> None:
    """On the real server beside the real kube-controller-manager."""
    _tell("embedded", servers.embedded, scheduler_checks.ours_with_our_controller)
    _tell("real", servers.real, scheduler_checks.ours_with_their_controller)


def real_scheduler_on_ours(servers: Servers) -> None:
    _tell("embedded", servers.embedded, scheduler_checks.theirs_with_our_controller)


def both_schedulers_on_ours(servers: Servers) -> None:
    _tell("embedded", servers.embedded, scheduler_checks.same_pods_for_both)


def random_workloads(servers: Servers) -> None:
    run = scheduler_checks.random_workloads
    tell("both", lambda say: run(servers.real.kubeconfig, servers.embedded.kubeconfig, say))


def cluster_killed_at_random(_servers: Servers) -> None:
    if os.geteuid() != 0:
        raise StepSkippedError("mounts and loop devices need root")
    tell("cluster", functools.partial(killed_cluster.run, KILL_SECONDS, SEED))


def cluster_killed_at_chosen_steps(_servers: Servers) -> None:
    """A sample; `make kills-every-step` has all of them."""
    kills = walk.sampled_kills(SEED)
    tell("cluster", lambda say: _walked(walk.run(kills, say, STEP_SECONDS)))


def _walked(walked: walk.Walked) -> None:
    assert walked.kills, "no process was killed"


def watchers_come_and_go(_servers: Servers) -> None:
    tell("embedded", functools.partial(soak.run, SOAK_SECONDS, SEED))


def _tell(name: str, endpoint: Endpoint, run: Callable[[Path, Say], None]) -> None:
    tell(name, lambda say: run(endpoint.kubeconfig, say))


def print_speed() -> None:
    _print(speed.compare(lambda remark: print(remark, flush=True)))


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        print(f"  {line}", flush=True)


STEPS = (
    Step("recorded conversations, real server", replay_on_the_real_server),
    Step("recorded conversations, embedded server", replay_on_the_embedded_server),
    Step("client, cache, leader election and events on both", client_on_both),
    Step("kubectl on both", kubectl_on_both),
    Step("roles, bindings and reviews on both", same_rights_on_both),
    Step("our controller on both", our_controller_on_both),
    Step("kube-controller-manager on the embedded server", real_controllers_on_ours),
    Step("our scheduler on both", our_scheduler_on_both),
    Step("kube-scheduler on the embedded server", real_scheduler_on_ours),
    Step("the same pods for both schedulers", both_schedulers_on_ours),
    Step("random workloads for both schedulers, pod by pod", random_workloads),
    *CSI_STEPS,
    *CLIENT_STEPS,
    *SUITE_STEPS,
    Step("the processes of a cluster are killed at random", cluster_killed_at_random),
    Step("a process is killed at a step of a group or rollback", cluster_killed_at_chosen_steps),
    Step("watchers come and go, memory and file stay flat", watchers_come_and_go),
    Step("admission policies on both", policy_checks.same_policies_on_both),
)
