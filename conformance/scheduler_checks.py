"""Our scheduler and the real kube-scheduler, on any API server, beside any controller.

Four settings are of interest: our own programs alone; our scheduler on a real cluster; the real
scheduler on the embedded server; and both on the same questions.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

import uvloop

from conformance.cluster_stories import place
from conformance.programs import (
    kube_controller_manager,
    kube_scheduler,
    our_controller,
    our_scheduler,
)
from conformance.scheduling_stories import STORIES, Stage, Story, Who, offer, story_title
from conformance.workloads.play import Competitor, play_all

OUR_PROVISIONER, THEIR_PROVISIONER = "plimsoll.dev/host-path", "kubernetes.io/host-path"
OURS, THEIRS = "plimsoll", "default-scheduler"
THEIRS_ALONE = "kube-scheduler-alone"
"""A name that no pod of another step has: those would be put on the nodes of workloads."""
SEEDS = (1, 2)
WORKLOADS = range(1, 201)

Say = Callable[[str], None]
Program = Callable[[Path, Path], AbstractContextManager[None]]


def ours_with_our_controller(kubeconfig: Path, say: Say) -> None:
    """Raises AssertionError when a story does not end as it should; so do the others."""
    who = Who(scheduler=OURS, provisioner=OUR_PROVISIONER)
    with _running(kubeconfig, our_controller, our_scheduler):
        uvloop.run(_tell(kubeconfig, STORIES, who, say))


def ours_with_their_controller(kubeconfig: Path, say: Say) -> None:
    who = Who(scheduler=OURS, provisioner=THEIR_PROVISIONER)
    with _running(kubeconfig, kube_controller_manager, our_scheduler):
        uvloop.run(_tell(kubeconfig, STORIES, who, say))


def theirs_with_our_controller(kubeconfig: Path, say: Say) -> None:
    who = Who(scheduler=THEIRS, provisioner=OUR_PROVISIONER)
    with _running(kubeconfig, our_controller, kube_scheduler):
        uvloop.run(_tell(kubeconfig, STORIES, who, say))


def same_pods_for_both(kubeconfig: Path, say: Say) -> None:
    """Identical nodes, volumes, claims and pods: the same pods must get nodes."""
    with _running(kubeconfig, our_controller, our_scheduler, kube_scheduler):
        for seed in SEEDS:
            ours = uvloop.run(_offered(kubeconfig, OURS, seed))
            theirs = uvloop.run(_offered(kubeconfig, THEIRS, seed))
            say(f"seed {seed}: {len(theirs)} pods scheduled by kube-scheduler, {len(ours)} by us")
            assert ours == theirs, f"only one of them: {sorted(ours ^ theirs)}"


def random_workloads(theirs: Path, ours: Path, say: Say) -> None:
    """kube-scheduler on one server and our scheduler on the other, pod by pod."""
    alone = partial(kube_scheduler, name=THEIRS_ALONE)
    competitors = Competitor(THEIRS_ALONE, theirs), Competitor(OURS, ours)
    with _running(theirs, alone), _running(ours, our_scheduler):
        tally = uvloop.run(play_all(*competitors, WORKLOADS, say))
    say(f"{tally.pods} pods, {tally.placed} got nodes, {tally.equal} of them the same of several")
    # Two schedulers that refuse everything agree as well.
    assert tally.placed > tally.pods // 2, "so few pods got nodes that nothing was compared"


async def _offered(kubeconfig: Path, scheduler: str, seed: int) -> set[str]:
    async with place(kubeconfig) as at:
        stage = Stage(at, Who(scheduler=scheduler, provisioner=""))
        try:
            return await offer(stage, seed)
        finally:
            await stage.leave()


async def _tell(kubeconfig: Path, stories: tuple[Story, ...], who: Who, say: Say) -> None:
    for story in stories:
        say(story_title(story))
        async with place(kubeconfig) as at:
            stage = Stage(at, who)
            try:
                await story(stage)
            finally:
                await stage.leave()


@contextmanager
def _running(kubeconfig: Path, *programs: Program) -> Iterator[None]:
    with ExitStack() as running:
        name = running.enter_context(tempfile.TemporaryDirectory(prefix="plimsoll-scheduler-"))
        for program in programs:
            running.enter_context(program(kubeconfig, Path(name)))
        yield
