"""Clusters of `plimsoll up`, started as a user starts them, and what tests do with them."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.request import urlopen

from plimsoll.api.registry import Document, resources_by_kind
from plimsoll.api.volumes import PersistentVolume
from plimsoll.api.workloads import StatefulSet
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.ids import system_chance
from plimsoll.ui.demo.stage import CLAIMS, PODS
from plimsoll.ui.local_cluster.leftovers import release
from plimsoll.wire.connect import connect
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment
from plimsoll.wire.parameters import Selection

SECONDS = 120
PAUSE = timedelta(milliseconds=200)
COMMAND = [sys.executable, "-c", "from plimsoll.ui.cli.main import main; main()", "up"]
SETS, VOLUMES = typed(StatefulSet), typed(PersistentVolume)
RUNNING = dict.fromkeys(("db-0", "db-1", "db-2"), "Running")


@contextmanager
def short_directory() -> Iterator[Path]:
    """Sockets have short names: what pytest gives is too long. Nothing stays mounted in it."""
    directory = Path(tempfile.mkdtemp(prefix="up-"))
    try:
        yield directory
    finally:
        if os.geteuid() == 0:
            release(directory)
        shutil.rmtree(directory)


@contextmanager
def up(data: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [*COMMAND, "--data-dir", str(data), *options], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("plimsoll is up"), line
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        process.stdout.close()


def processes_of(supervisor: int) -> dict[str, int]:
    """What the supervisor has started, by the command that each of them is."""
    found: dict[str, int] = {}
    for task in Path(f"/proc/{supervisor}/task").iterdir():
        for pid in (task / "children").read_text().split():
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if words[3:4] == [str(supervisor)]:  # neither dead nor still to be
                found[words[4]] = int(pid)
    return found


def client(data: Path) -> KubeClient:
    around = KubeconfigEnvironment(environment=dict(os.environ), clock=SystemClock())
    return connect(ConnectionOptions(kubeconfig=str(data / "kubeconfig")), around, system_chance())


async def create(kube: KubeClient, *objects: Document) -> None:
    for document in objects:
        group, _, version = document["apiVersion"].rpartition("/")
        await kube.create(
            documents(resources_by_kind()[group, version, document["kind"]]), document
        )


async def until(kube: KubeClient, is_so: Callable[[], Awaitable[object]], what: str) -> None:
    """A server that is away is waited for."""
    deadline = time.monotonic() + SECONDS
    while True:
        with contextlib.suppress(KubeError):
            if await is_so():
                return
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        await kube.clock.sleep(PAUSE)


async def phases(kube: KubeClient, wanted: dict[str, str]) -> None:
    """Wait until the pods of the demo are in these phases."""

    async def is_so() -> bool:
        page = await kube.list(PODS, Selection(namespace="demo"))
        return {pod.name: str(pod.status.phase) for pod in page.items} == wanted

    await until(kube, is_so, f"pods are {wanted}")


async def delete_demo(kube: KubeClient) -> None:
    """What tests made in the namespace of the demo, until the volumes are gone as well."""
    for workload in (await kube.list(SETS, Selection(namespace="demo"))).items:
        await kube.delete(SETS, workload.key)
    for pod in (await kube.list(PODS, Selection(namespace="demo"))).items:
        with contextlib.suppress(KubeError):  # gone with its set
            await kube.delete(PODS, pod.key)
    for claim in (await kube.list(CLAIMS, Selection(namespace="demo"))).items:
        await kube.delete(CLAIMS, claim.key)

    async def is_gone() -> bool:
        return not (await kube.list(VOLUMES, Selection())).items

    await until(kube, is_gone, "volumes are gone")


def addresses(data: Path) -> list[tuple[str, str]]:
    lines = (data / "addresses").read_text().splitlines()
    return [(name.strip(), address) for name, _, address in (x.rpartition("  ") for x in lines)]


def restarts(data: Path, process: str, part: str) -> float:
    """How often a part was started again inside a process, as the process' own page says."""
    with urlopen(dict(addresses(data))[process], timeout=SECONDS) as page:  # noqa: S310 - ours
        text = page.read().decode()
    found = re.search(rf'plimsoll_loop_restarts_total{{loop="{part}"}} (\S+)', text)
    return float(found.group(1)) if found else 0.0
