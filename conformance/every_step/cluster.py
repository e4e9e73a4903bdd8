"""The processes: an API server, scheduler and controller, and two drivers with their provisioners.

Each process has a line of its own to the API server, and to each driver that it calls. The next
life of a process acts soon: scheduler and controller keep their identity, as those of `plimsoll up`
do, and elections of provisioners are short.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from conformance.every_step.api_line import API_SERVER, ApiLine
from conformance.every_step.csi_line import CsiLine, LineEnds, MadeVolumes, until_listening
from conformance.every_step.kept_processes import KeptProcess
from conformance.every_step.trap import Trap
from conformance.every_step.waiting import until
from conformance.kills.client import EnduringClient, connected
from plimsoll.api.registry import Document
from tests.servers import NO_CONTROLLERS, endpoint_in, free_port, is_ready

NODES = ("node-a", "node-b")
DRIVERS = ("driver-a", "driver-b")
PROVISIONERS = ("provisioner-a", "provisioner-b")
SCHEDULER, CONTROLLER = "scheduler", "controller"
PROCESSES = (API_SERVER, SCHEDULER, CONTROLLER, *PROVISIONERS, *DRIVERS)
ELECTED = (SCHEDULER, CONTROLLER, *PROVISIONERS)
RECORDS = "kube-system"
"""The namespace of all records."""
ELECTION = {"lease-duration": "4s", "renew-deadline": "3500ms", "retry-period": "300ms"}
IDENTITY = "the-only-one"
CALL_LIMIT = "3s"
LOOPS = ("binding", "claim-protection", "volume-protection", "rollback")
START_SECONDS = 60
SIZE = "1Gi"
PLENTY, NOTHING = "100Gi", "1Mi"
KINDS = {
    "roomy": (PLENTY, PLENTY, "0"),
    "narrow": (NOTHING, PLENTY, "0"),
    "slow": (PLENTY, PLENTY, "1200ms"),
}
"""What a driver has in the zone of each node, and how long each call takes, by kind of storage."""


def provisioner_name(driver: str) -> str:
    """What classes call it."""
    return f"{driver}.plimsoll.dev"


def zone_of(node: str) -> str:
    return node.removeprefix("node-")


@dataclass(slots=True)
class SteppedCluster:
    directory: Path
    client: EnduringClient
    trap: Trap
    made: MadeVolumes
    processes: dict[str, KeptProcess] = field(default_factory=dict)

    async def is_ready(self) -> bool:
        """Whether each process acts that acts only with a lease."""
        return all(self.processes[name].leads for name in ELECTED)

    def driver_dir(self, driver: str) -> Path:
        return self.directory / driver

    def socket(self, driver: str, node: str) -> Path:
        """Of the driver itself, without a line."""
        return self.directory / f"{driver}-{zone_of(node)}.sock"

    def said(self) -> str:
        """The last lines of each process."""
        tails = []
        for name in PROCESSES:
            log = self.directory / f"{name}.log"
            lines = log.read_text(errors="replace").splitlines() if log.exists() else []
            tails.append("\n".join([f"--- {name}", *lines[-40:]]))
        return "\n".join(tails)


@contextlib.asynccontextmanager
async def a_cluster(directory: Path) -> AsyncIterator[SteppedCluster]:
    async with AsyncExitStack() as stack:
        server = await _api_server(directory, stack)
        client = await stack.enter_async_context(connected(directory / "kubeconfig"))
        cluster = SteppedCluster(directory, client, Trap(), MadeVolumes(), {API_SERVER: server})
        parts = _Parts(cluster, stack)
        for driver, provisioner in zip(DRIVERS, PROVISIONERS, strict=True):
            await parts.add_driver(driver, (provisioner, CONTROLLER))
        for driver, provisioner in zip(DRIVERS, PROVISIONERS, strict=True):
            socket = parts.line_socket(provisioner, driver)
            await parts.add(provisioner, *_provisioner_flags(socket))
        sockets = [parts.line_socket(CONTROLLER, driver) for driver in DRIVERS]
        await parts.add(CONTROLLER, *_controller_flags(directory, sockets))
        await parts.add(SCHEDULER, *_scheduler_flags())
        yield cluster


async def _api_server(directory: Path, stack: AsyncExitStack) -> KeptProcess:
    port = free_port()
    arguments = [f"--data-dir={directory / 'api'}", f"--port={port}", *NO_CONTROLLERS]
    arguments += [f"--write-kubeconfig={directory / 'kubeconfig'}", "--log-level=warning"]
    log = directory / f"{API_SERVER}.log"
    server = KeptProcess(API_SERVER, (API_SERVER, *arguments), log)
    stack.push_async_callback(server.stop)
    await server.start()
    await until("the API server answers", lambda: asyncio.to_thread(is_ready, port))
    return server


class _Parts:
    def __init__(self, cluster: SteppedCluster, stack: AsyncExitStack) -> None:
        self._cluster = cluster
        self._stack = stack
        self._endpoint = endpoint_in(cluster.directory / "kubeconfig")

    def line_socket(self, caller: str, driver: str) -> Path:
        return self._cluster.directory / f"{caller}-to-{driver}.sock"

    async def add(self, name: str, *flags: str) -> None:
        """A process with a line of its own to the API server."""
        directory = self._cluster.directory
        line = ApiLine(name, self._endpoint, self._cluster.trap)
        await self._stack.enter_async_context(line.open())
        kubeconfig = directory / f"{name}.kubeconfig"
        line.write_kubeconfig(kubeconfig)
        command = name.partition("-")[0]
        arguments = (command, f"--kubeconfig={kubeconfig}", "--log-level=info", *flags)
        log = directory / f"{name}.log"
        process = KeptProcess(name, arguments, log, {"NAMESPACE": RECORDS})
        await self._start(process)

    async def add_driver(self, name: str, callers: tuple[str, ...]) -> None:
        cluster, directory = self._cluster, self._cluster.directory
        settings = directory / f"{name}.yaml"
        settings.write_text(yaml.safe_dump(_driver_settings(cluster, name)))
        behind = cluster.socket(name, NODES[0])
        lines = [
            CsiLine(
                LineEnds(
                    caller=caller,
                    driver=name,
                    socket=self.line_socket(caller, name),
                    behind=behind,
                ),
                cluster.trap,
                cluster.made,
            )
            for caller in callers
        ]
        log = directory / f"{name}.log"
        process = KeptProcess(name, ("driver", f"--settings={settings}"), log)

        async def open_lines() -> None:
            await until_listening(behind)
            for line in lines:
                await line.open()

        async def close_lines() -> None:
            for line in lines:
                await line.close()

        process.on_start, process.on_end = open_lines, close_lines
        self._stack.push_async_callback(close_lines)
        await self._start(process)

    async def _start(self, process: KeptProcess) -> None:
        self._cluster.processes[process.name] = process
        self._stack.push_async_callback(process.stop)
        async with asyncio.timeout(START_SECONDS):
            await process.start()


def _driver_settings(cluster: SteppedCluster, name: str) -> Document:
    pools = [
        {
            "name": f"{kind}-{zone_of(node)}",
            "size": size,
            "kind": kind,
            "latency": latency,
            "topology": {"zone": zone_of(node)},
        }
        for kind, (*sizes, latency) in KINDS.items()
        for node, size in zip(NODES, sizes, strict=True)
    ]
    return {
        "backend": "pools",
        "driverName": provisioner_name(name),
        "dataDir": str(cluster.driver_dir(name)),
        "mounts": "linked",
        "options": {"pools": pools},
        "nodes": [
            {
                "id": node,
                "topology": {"zone": zone_of(node)},
                "endpoint": f"unix://{cluster.socket(name, node)}",
            }
            for node in NODES
        ],
    }


def _provisioner_flags(socket: Path) -> list[str]:
    return [
        f"--csi-address={socket}",
        "--strict-topology",
        "--kube-api-qps=0",
        f"--timeout={CALL_LIMIT}",
        "--retry-interval-start=100ms",
        "--retry-interval-max=1s",
        "--leader-election",
        f"--leader-election-namespace={RECORDS}",
        *(f"--leader-election-{name}={value}" for name, value in ELECTION.items()),
    ]


def _controller_flags(directory: Path, sockets: list[Path]) -> list[str]:
    return [
        f"--controllers={','.join(LOOPS)}",
        f"--data-dir={directory / CONTROLLER}",
        "--metrics-port=0",
        "--rollback=on",
        "--rollback-after=1s",
        f"--csi-timeout={CALL_LIMIT}",
        f"--provisioner-call-limit={CALL_LIMIT}",
        *(f"--csi-address={socket}" for socket in sockets),
        f"--leader-elect-identity={IDENTITY}",
    ]


def _scheduler_flags() -> list[str]:
    return [
        "--scheduler-name=default-scheduler",
        "--metrics-port=0",
        f"--leader-elect-identity={IDENTITY}",
    ]
