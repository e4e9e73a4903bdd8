"""`plimsoll demo`: the embedded cluster in one command, and something true to look at.

It grows with the product. Everything it prints was asked of the running server.
"""

import asyncio
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import click
import uvloop

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document, resources_by_kind
from plimsoll.api.storage import CSIStorageCapacity, StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.api.workloads import StatefulSet
from plimsoll.processes.apiserver.main import Serving, Settings, serving
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import environment
from plimsoll.runtime.ids import system_chance
from plimsoll.runtime.log import configure_logging
from plimsoll.ui.cli.demo_objects import (
    NAMESPACE,
    ZONE,
    claim,
    database,
    demo_objects,
    late_class,
    zonal_class,
)
from plimsoll.wire.errors import KubeError
from plimsoll.wire.http import HttpTransport
from plimsoll.wire.kind import Deleted, Kind, Upserted, documents, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import Surroundings, Wish, find_access
from plimsoll.wire.parameters import Selection, WatchFrom, merge_patch

CAPACITIES = typed(CSIStorageCapacity)
CLAIMS = typed(PersistentVolumeClaim)
VOLUMES = typed(PersistentVolume)
LONGEST_WAIT = timedelta(seconds=60)

T = TypeVar("T", bound=ApiObject)


class DemoFailedError(Exception):
    """What the demo expected to see did not happen."""


def say(text: str) -> None:
    click.echo(text)
    sys.stdout.flush()


@click.command()
@click.option("--once", is_flag=True, help="End after the tour instead of waiting for Ctrl-C.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port on 127.0.0.1; by default a free one.",
)
def demo(*, once: bool, port: int) -> None:
    """Start the embedded cluster, put storage objects into it and show them.

    Uses a directory of its own that is removed at the end. Exit code 1 when anything went wrong.
    """
    configure_logging(level="warning")
    directory = Path(tempfile.mkdtemp(prefix="plimsoll-demo-"))
    try:
        uvloop.run(_tour(directory, port=port, once=once))
    except (DemoFailedError, KubeError, OSError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        shutil.rmtree(directory)


async def _tour(directory: Path, *, port: int, once: bool) -> None:
    clock = SystemClock()
    settings = Settings(
        data_dir=directory / "data", port=port, write_kubeconfig=directory / "kubeconfig"
    )
    started = clock.monotonic()
    async with serving(settings) as up, _client(settings) as client:
        took = clock.monotonic() - started
        say(f"1. The embedded Kubernetes API is ready at {up.url} after {took:.1f} s.")
        await _fill(client)
        position = await _show_capacity(client)
        await _show_defaults(client)
        await _show_refusal(client)
        await _change_capacity(client)
        port = _port_of(up)
    await _come_back(settings, port, position, once=once)


def _port_of(up: Serving) -> int:
    return int(up.url.rpartition(":")[2])


@asynccontextmanager
async def _client(settings: Settings) -> AsyncIterator[KubeClient]:
    """Over TLS and the kubeconfig, as any other program would do it."""
    access = find_access(
        Wish(kubeconfig=str(settings.write_kubeconfig)),
        Surroundings(environment=environment(), clock=settings.clock),
    )
    async with HttpTransport(access, user_agent="plimsoll-demo") as transport:
        yield KubeClient(
            transport, clock=settings.clock, chance=system_chance(), manager="plimsoll-demo"
        )


async def _fill(client: KubeClient) -> None:
    objects = demo_objects()
    for document in objects:
        group, _, version = document["apiVersion"].rpartition("/")
        resource = resources_by_kind()[group, version, document["kind"]]
        await client.create(documents(resource), document)
    say(f"2. Created {len(objects)} objects: nodes in three zones, a driver, a class, its room.")


async def _show_capacity(client: KubeClient) -> str:
    page = await client.list(CAPACITIES, Selection(namespace=NAMESPACE))
    nodes = {node.metadata.labels[ZONE]: node for node in (await client.list(typed(Node))).items}
    say("3. Where storage of class fast can still be made:")
    for capacity in page.items:
        zone = capacity.node_topology.match_labels[ZONE] if capacity.node_topology else ""
        name = nodes[zone].metadata.name
        say(f"     zone {zone}   {capacity.capacity or '-':>6} free   reached from {name}")
    return page.resource_version


async def _show_defaults(client: KubeClient) -> None:
    key = ObjectKey(NAMESPACE, "data")
    data = await client.get(CLAIMS, key)
    say(
        f"4. Claim {key} named no class; the server made it {data.spec.storage_class_name!r} "
        f"and protects it: {', '.join(data.metadata.finalizers)}."
    )


async def _show_refusal(client: KubeClient) -> None:
    wrong: Document = claim("wrong", "-5Gi")
    wrong["spec"]["accessModes"] = ["ReadSometimes"]
    try:
        await client.create(CLAIMS, wrong)
    except KubeError as refusal:
        say("5. Bad input is refused with its reasons, and changes nothing:")
        for cause in refusal.causes:
            say(f"     {cause['field']}: {cause['message']}")
        return
    raise DemoFailedError("a claim of -5Gi was accepted")


async def _change_capacity(client: KubeClient) -> None:
    zone_b = ObjectKey(NAMESPACE, "fast-b")
    await client.patch(CAPACITIES, zone_b, merge_patch({"capacity": "20Gi"}))


async def _come_back(settings: Settings, port: int, position: str, *, once: bool) -> None:
    """A second life on the same files: nothing is lost, not even the place in the watch."""
    again = Settings(
        data_dir=settings.data_dir, port=port, write_kubeconfig=settings.write_kubeconfig
    )
    async with serving(again), _client(again) as client:
        capacity = await _first_change(client, position)
        say(
            f"6. Stopped and started again: the objects are there, and a watch resumed at revision "
            f"{position} still hears that {capacity.metadata.name} went to {capacity.capacity}."
        )
        kubeconfig = str(settings.write_kubeconfig)
        data = ["--data-dir", str(settings.data_dir)]
        async with _process("controller", kubeconfig, *data), _process("scheduler", kubeconfig):
            await _life_of_a_claim(client)
            await _place_a_database(client)
            kinds = "nodes,pods,persistentvolumeclaims,persistentvolumes"
            say("9. Look around with kubectl:")
            say(f"     kubectl --kubeconfig {kubeconfig} get {kinds} -A")
            await _run_kubectl(kubeconfig, kinds)
            if not once:
                await _until_interrupted()


@asynccontextmanager
async def _process(command: str, kubeconfig: str, *options: str) -> AsyncIterator[None]:
    """`plimsoll controller` or `scheduler` as a process of its own, beside the server."""
    common = ["--kubeconfig", kubeconfig, "--no-leader-elect", "--metrics-port", "0"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from plimsoll.ui.cli.main import main; main()",
        command,
        *common,
        *options,
        "--log-level",
        "error",
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        yield
        if process.returncode is not None:
            raise DemoFailedError(f"the {command} ended with {process.returncode}")
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _life_of_a_claim(client: KubeClient) -> None:
    wanted = claim("precious", "5Gi")
    wanted["spec"]["storageClassName"] = "replicated"
    await client.create(typed(StorageClass), zonal_class())
    await client.create(CLAIMS, wanted)
    key = ObjectKey(NAMESPACE, "precious")
    bound = await _until(client, CLAIMS, key, lambda found: found.status.phase == "Bound")
    if bound is None:
        raise DemoFailedError(f"claim {key} was deleted by somebody")
    volume = await client.get(VOLUMES, ObjectKey("", bound.spec.volume_name))
    zones = volume.metadata.labels[ZONE].replace("__", " and ")
    say(f"7. The controller made volume {volume.metadata.name} in zones {zones} and bound {key};")
    await client.delete(CLAIMS, key)
    await _until(client, VOLUMES, volume.key, lambda _found: False)
    say("   the claim was deleted, and the volume and its disk went with it.")


async def _place_a_database(client: KubeClient) -> None:
    await client.create(typed(StorageClass), late_class())
    await client.create(typed(StatefulSet), database())
    say("8. Three pods of a StatefulSet, each with a claim that waits for its pod's node:")
    for number in range(3):
        key = ObjectKey(NAMESPACE, f"db-{number}")
        await _until(client, typed(StatefulSet), ObjectKey(NAMESPACE, "db"), _has_pods)
        pod = await _until(client, typed(Pod), key, lambda found: bool(found.spec.node_name))
        claimed = await client.get(CLAIMS, ObjectKey(NAMESPACE, f"data-db-{number}"))
        if pod is None:
            raise DemoFailedError(f"pod {key} was deleted by somebody")
        say(f"     {key.name} on {pod.spec.node_name}, its volume {claimed.spec.volume_name}")


def _has_pods(found: StatefulSet) -> bool:
    return found.status.replicas == found.spec.replicas


async def _until(
    client: KubeClient, kind: Kind[T], key: ObjectKey, seen: Callable[[T], bool]
) -> T | None:
    """The object once it is as wanted, None once it is gone; by watching."""
    page = await client.list(kind, Selection(namespace=key.namespace))
    start = WatchFrom(resource_version=page.resource_version)
    found = {item.key: item for item in page.items}.get(key)
    if found is None or seen(found):
        return found
    async with (
        asyncio.timeout(LONGEST_WAIT.total_seconds()),
        client.watch(kind, start, Selection(namespace=key.namespace)) as events,
    ):
        async for event in events:
            if isinstance(event, Upserted) and event.object.key == key and seen(event.object):
                return event.object
            if isinstance(event, Deleted) and event.object.key == key:
                return None
    raise DemoFailedError(f"{kind.described(key)}: nothing happened for {LONGEST_WAIT}")


async def _first_change(client: KubeClient, position: str) -> CSIStorageCapacity:
    start = WatchFrom(resource_version=position)
    selection = Selection(namespace=NAMESPACE)
    async with (
        client.watch(CAPACITIES, start, selection) as events,
        asyncio.timeout(LONGEST_WAIT.total_seconds()),
    ):
        async for event in events:
            if isinstance(event, Upserted):
                return event.object
    raise DemoFailedError("the watch did not resume after the restart")


async def _run_kubectl(kubeconfig: str, kinds: str) -> None:
    """With the kubectl that is on the PATH, if there is one."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        say("     (no kubectl on the PATH of this machine)")
        return
    arguments = ("--kubeconfig", kubeconfig, "get", kinds, "-A")
    process = await asyncio.create_subprocess_exec(
        kubectl, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
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
