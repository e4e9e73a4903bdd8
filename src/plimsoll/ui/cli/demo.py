"""`plimsoll demo`: a whole cluster in one command, and the life of some data in it."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import click
import uvloop

from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import ConfigError, Settings, Sources, load_settings
from plimsoll.runtime.flags import Flag
from plimsoll.runtime.log import configure_logging
from plimsoll.ui.demo.stage import DemoFailedError, DemoStage
from plimsoll.ui.demo.tour import Tour
from plimsoll.ui.local_cluster.children import ChildFailedError
from plimsoll.ui.local_cluster.leftovers import release
from plimsoll.ui.local_cluster.preparing import client_of
from plimsoll.ui.local_cluster.running import (
    ClusterRequest,
    LocalCluster,
    StartReports,
    local_cluster,
)
from plimsoll.ui.options.settings_options import OptionDefaults, settings_options
from plimsoll.ui.stdout import say
from plimsoll.wire.errors import KubeError

REMEMBERED = 40
KINDS = "nodes,pods,persistentvolumeclaims,persistentvolumes,volumesnapshots"


class DemoFlags(Settings, frozen=True, kw_only=True):
    once: Annotated[bool, Flag("End after the tour instead of waiting for Ctrl-C.", off=None)] = (
        False
    )
    port: Annotated[int, Flag("Port on 127.0.0.1; 0: a free one.", at_least=0, at_most=65535)] = 0


@click.command()
@settings_options(DemoFlags, defaults=OptionDefaults.FINAL)
def demo(**given: Any) -> None:
    """Start a cluster with real volumes, put a database into it, and show what becomes of it.

    Uses a directory of its own that is removed at the end. Without root, volumes are directories.
    Exit code 1 when anything went wrong.
    """
    flags = load_settings(DemoFlags, Sources(flags=given))
    configure_logging(level="error")
    said: deque[str] = deque(maxlen=REMEMBERED)
    directory = Path(tempfile.mkdtemp(prefix="plimsoll-demo-")).resolve()
    try:
        uvloop.run(_show(directory, said, port=flags.port, once=flags.once))
    except asyncio.CancelledError:
        raise click.ClickException("ended in the middle") from None
    except (DemoFailedError, ChildFailedError, ConfigError, KubeError, OSError) as error:
        click.echo("\n".join(said), err=True)
        raise click.ClickException(str(error)) from error
    finally:
        if os.geteuid() == 0:
            release(directory)
        shutil.rmtree(directory)


async def _show(directory: Path, said: deque[str], *, port: int, once: bool) -> None:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    # A user who ends the tour in the middle is not left with its mounts.
    tour_task = asyncio.current_task()
    if tour_task is not None:
        loop.add_signal_handler(signal.SIGTERM, tour_task.cancel)
    settings = {"port": port, "disk_size": "1Gi"}
    # Each part as a process: two of them are killed on the tour.
    request = ClusterRequest(
        data_dir=directory, settings=settings, log_level="error", separate=True
    )
    is_root = os.geteuid() == 0

    def report(child: str, line: str) -> None:
        """Processes are killed on the tour: what they say about it is told if something fails."""
        said.append(f"{child}: {line}")

    reports = StartReports(on_line=report, on_change=say)
    async with (
        local_cluster(request, reports, is_root=is_root) as cluster,
        client_of(cluster.wanted, SystemClock()) as client,
    ):
        children = len(cluster.children)
        say(f"1. A cluster of {children} processes is up after {loop.time() - begun:.1f} s.")
        stage = DemoStage(cluster, client)
        tour = Tour(stage, say)
        try:
            await tour.run()
        except DemoFailedError:
            # Where the server is down, its process has said why.
            with suppress(KubeError):
                said.extend(await stage.warnings())
            raise
        await _look_around(cluster)
        if not once:
            await _until_interrupted()
        await tour.clean_up()


async def _look_around(cluster: LocalCluster) -> None:
    """With the kubectl that is on the PATH, if there is one."""
    kubeconfig = str(cluster.wanted.kubeconfig)
    say("10. Look around with kubectl:")
    say(f"     kubectl --kubeconfig {kubeconfig} get {KINDS} -A")
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        say("     (no kubectl on the PATH of this machine)")
        return
    process = await asyncio.create_subprocess_exec(
        *(kubectl, "--kubeconfig", kubeconfig, "get", KINDS, "-A"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    say("".join(f"     {line}\n" for line in output.decode().splitlines() if line).rstrip())
    if process.returncode:
        raise DemoFailedError(f"kubectl ended with {process.returncode}")


async def _until_interrupted() -> None:
    say("Running until Ctrl-C.")
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await stopping.wait()
