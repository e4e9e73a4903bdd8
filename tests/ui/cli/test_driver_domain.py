"""The driver as a program that reads from the labels of its Node object where it is."""

import asyncio
import contextlib
import http.client
import json
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from tests.servers import EmbeddedServer, Endpoint, plimsoll

REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
OWN = "topology.pools.plimsoll.dev"
TIME_LIMIT_SECONDS = 90
POOLS = {"pools": [{"name": "a", "size": "1Gi", "topology": {"zone": "a"}}]}


@dataclass(frozen=True, slots=True)
class Ground:
    endpoint: Endpoint
    directory: Path

    @property
    def registry(self) -> Path:
        return self.directory / "node" / "plugins_registry"

    @property
    def registration(self) -> Path:
        return self.registry / "pools.plimsoll.dev-reg.sock"

    def label(self, **labels: str | None) -> None:
        names = {"region": REGION, "zone": ZONE, "own_zone": f"{OWN}/zone"}
        change = {"metadata": {"labels": {names[key]: value for key, value in labels.items()}}}
        headers = self.endpoint.headers() | {"Content-Type": "application/merge-patch+json"}
        with contextlib.closing(self.endpoint.connect()) as connection:
            path = "/api/v1/nodes/alpha"
            connection.request("PATCH", path, body=json.dumps(change), headers=headers)
            assert connection.getresponse().status == 200

    @property
    def node(self) -> dict[str, Any]:
        _, node = self.endpoint.request("GET", "/api/v1/nodes/alpha")
        labels: dict[str, Any] = node["metadata"]["labels"]
        return labels

    @property
    def told(self) -> dict[str, str]:
        _, listed = self.endpoint.request("GET", "/api/v1/namespaces/default/events")
        return {
            event["reason"]: event["message"]
            for event in listed["items"]
            if event["involvedObject"]["kind"] == "Node" and event["reason"].startswith("Domain")
        }

    @property
    def registered_keys(self) -> list[str]:
        code, csi_node = self.endpoint.request("GET", "/apis/storage.k8s.io/v1/csinodes/alpha")
        drivers = (csi_node["spec"]["drivers"] or []) if code == 200 else []
        return sorted(key for driver in drivers for key in driver["topologyKeys"])


@pytest.fixture
def ground() -> Iterator[Ground]:
    # Directories of tests have names that are too long for sockets in them.
    with tempfile.TemporaryDirectory(prefix="plimsoll-") as name:
        directory = Path(name)
        (directory / "pools.yaml").write_text(yaml.safe_dump(POOLS))
        (directory / "server").mkdir()
        with EmbeddedServer(directory / "server") as server:
            node = {"metadata": {"name": "alpha"}}
            server.endpoint.request("POST", "/api/v1/nodes", node)
            yield Ground(server.endpoint, directory)


@contextmanager
def program(*argv: str) -> Iterator[str]:
    """The line it prints when it is ready; it must live as long as the block."""
    process = subprocess.Popen(
        [plimsoll(), *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline()
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


def driver(ground: Ground, *flags: str) -> list[str]:
    return [
        "driver",
        "--backend=pools",
        f"--data-dir={ground.directory / 'd'}",
        f"--pools={ground.directory / 'pools.yaml'}",
        "--node-id=alpha",
        "--mounts=linked",
        "--metrics-port=0",
        f"--kubeconfig={ground.endpoint.kubeconfig}",
        f"--plugin-registration-dir={ground.registry}",
        "--orchestrator=kubernetes",
        f"--domain-labels={REGION};{ZONE}",
        *flags,
    ]


def node(ground: Ground) -> list[str]:
    return [
        "node",
        "--node-name=alpha",
        f"--data-dir={ground.directory / 'node'}",
        f"--kubeconfig={ground.endpoint.kubeconfig}",
        "--metrics-port=0",
    ]


def readiness(line: str) -> tuple[int, str]:
    port = re.search(r"http://127.0.0.1:(\d+)/metrics", line)
    assert port, line
    connection = http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=10)
    connection.request("GET", "/readyz")
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def home(ground: Ground) -> dict[str, str] | str:
    return asyncio.run(_home(ground))


async def _home(ground: Ground) -> dict[str, str] | str:
    """What NodeGetInfo answers, without the prefix; or its refusal."""
    client = CsiClient(GrpcTransport(f"unix://{ground.directory / 'd' / 'csi.sock'}"))
    try:
        info = await client.call(m.NODE_GET_INFO, csi.NodeGetInfoRequest())
    except DriverError as refusal:
        return str(refusal)
    finally:
        await client.close()
    segments = info.accessible_topology.segments
    return {key.removeprefix(f"{OWN}/"): value for key, value in segments.items()}


def eventually(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIME_LIMIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def until_home(ground: Ground, wanted: dict[str, str]) -> None:
    deadline = time.monotonic() + TIME_LIMIT_SECONDS
    while (found := home(ground)) != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def test_a_driver_waits_for_the_labels_of_its_node_and_says_so(ground: Ground) -> None:
    ground.label(region="east")
    with program(*driver(ground)) as line:
        assert line.startswith("plimsoll driver ready; ")
        refusal = home(ground)
        assert f"Node alpha has no label {ZONE}" in refusal
        assert f"kubectl label node alpha {ZONE}=" in refusal
        assert readiness(line)[0] == 503
        assert f"Node alpha has no label {ZONE}" in readiness(line)[1]
        eventually(lambda: f"has no label {ZONE}" in ground.told.get("DomainLabelsMissing", ""))
        assert not ground.registration.exists()

        ground.label(zone="b")
        until_home(ground, {"region": "east", "zone": "b"})
        eventually(ground.registration.exists)
        assert readiness(line) == (200, "ok\n")
        eventually(lambda: "DomainFound" in ground.told)
        assert ground.told["DomainFound"] == "Node alpha is in region=east,zone=b."

        ground.label(zone="c")
        until_home(ground, {"region": "east", "zone": "c"})


def test_a_registered_node_moves_when_its_topology_labels_are_removed(
    ground: Ground,
) -> None:
    ground.label(region="east", zone="a")
    with ExitStack() as programs:
        programs.enter_context(program(*node(ground)))
        programs.enter_context(program(*driver(ground)))
        eventually(lambda: ground.registered_keys == [f"{OWN}/region", f"{OWN}/zone"])
        assert ground.node[f"{OWN}/zone"] == "a"

        ground.label(zone="b")
        eventually(lambda: "DomainLabelsDiffer" in ground.told)
        assert f"remove its labels {OWN}/region, {OWN}/zone" in ground.told["DomainLabelsDiffer"]
        assert home(ground) == {"region": "east", "zone": "a"}

        ground.label(own_zone=None)
        eventually(lambda: ground.node.get(f"{OWN}/zone") == "b")
        assert home(ground) == {"region": "east", "zone": "b"}


def test_a_driver_waits_for_a_node_that_does_not_exist_yet(ground: Ground) -> None:
    ground.endpoint.request("DELETE", "/api/v1/nodes/alpha")
    with program(*driver(ground)):
        assert "There is no node alpha" in home(ground)
        labels = {REGION: "east", ZONE: "a"}
        ground.endpoint.request(
            "POST", "/api/v1/nodes", {"metadata": {"name": "alpha", "labels": labels}}
        )
        until_home(ground, {"region": "east", "zone": "a"})
