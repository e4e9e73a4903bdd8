"""A cluster of two processes, with real nodes: what ends in it comes back, and takes nothing along.

The program runs as a user starts it; faults come from outside, by signals and through the API.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.ui.demo.objects import claim, database, namespace, pod
from plimsoll.ui.demo.stage import CLAIMS, PODS
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Selection, merge_patch
from tests.ui.started import (
    RUNNING,
    client,
    create,
    delete_demo,
    phases,
    processes_of,
    restarts,
    short_directory,
    until,
    up,
)

BOTH = {"control-plane", "machine"}
SCHEDULER_LEASE = ObjectKey("kube-system", "plimsoll-scheduler-default-scheduler")


@pytest.fixture
def short() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


async def killed(kube: KubeClient, supervisor: int, victim: str) -> None:
    """kill -9; returns when another process is in its place."""
    before = processes_of(supervisor)
    os.kill(before[victim], signal.SIGKILL)

    async def is_back() -> bool:
        return processes_of(supervisor).get(victim, before[victim]) != before[victim]

    await until(kube, is_back, f"{victim} is back")
    after = processes_of(supervisor)
    assert {name for name in BOTH if after[name] == before[name]} == BOTH - {victim}


async def volume_of(kube: KubeClient, data: Path, name: str) -> Path:
    """Where the volume of a pod of the demo is on its node."""
    found: Pod = await kube.get(PODS, ObjectKey("demo", name))
    claimed = await kube.get(CLAIMS, ObjectKey("demo", f"data-{name}"))
    pods = data / "nodes" / found.spec.node_name / "pods" / found.uid
    return pods / "volumes" / "kubernetes.io~csi" / claimed.spec.volume_name / "mount"


@pytest.mark.timeout(600)
async def test_either_process_can_be_killed_and_data_stays_also_in_the_other_form(
    short: Path,
) -> None:
    with up(short, "--disk-size", "1Gi") as supervisor:
        assert set(processes_of(supervisor.pid)) == BOTH
        kube = client(short)
        await create(kube, namespace(), database())
        await phases(kube, RUNNING)
        (await volume_of(kube, short, "db-0") / "data").write_text("kept")
        uids = {each.uid for each in (await kube.list(PODS, Selection(namespace="demo"))).items}

        await killed(kube, supervisor.pid, "control-plane")
        await until(kube, lambda: kube.raw_get("/readyz"), "the server answers")
        await create(kube, claim("after-server", "64Mi"), pod("after-server", "after-server"))
        await phases(kube, RUNNING | {"after-server": "Running"})

        await killed(kube, supervisor.pid, "machine")
        await create(kube, claim("after-machine", "64Mi"), pod("after-machine", "after-machine"))
        running = RUNNING | {"after-server": "Running", "after-machine": "Running"}
        await phases(kube, running)

        found = (await kube.list(PODS, Selection(namespace="demo"))).items
        assert uids <= {each.uid for each in found}
        assert (await volume_of(kube, short, "db-0") / "data").read_text() == "kept"
        await kube.close()
    with up(short, "--separate") as supervisor:
        assert set(processes_of(supervisor.pid)).isdisjoint(BOTH)
        kube = client(short)
        await phases(kube, running)
        assert (await volume_of(kube, short, "db-0") / "data").read_text() == "kept"
        await kube.close()
    with up(short) as supervisor:
        assert set(processes_of(supervisor.pid)) == BOTH
        kube = client(short)
        await phases(kube, running)
        assert (await volume_of(kube, short, "db-0") / "data").read_text() == "kept"
        await delete_demo(kube)
        await kube.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("form", [(), ("--separate",), ("--hollow",)], ids=" ".join)
async def test_no_part_asks_for_what_its_role_does_not_allow(
    short: Path, form: tuple[str, ...]
) -> None:
    with up(short, "--disk-size", "1Gi", *form):
        kube = client(short)
        await create(kube, namespace(), database())
        await phases(kube, RUNNING)
        await delete_demo(kube)
        text = (await kube.raw_get("/metrics")).decode()
        assert 'code="200"' in text
        assert [line for line in text.splitlines() if 'code="403"' in line] == []
        await kube.close()


@pytest.mark.timeout(300)
async def test_a_scheduler_that_loses_its_lease_begins_again_and_the_other_parts_go_on(
    short: Path,
) -> None:
    """Another candidate takes the lease for a second, and never renews it."""
    with up(short, "--hollow") as supervisor:
        kube = client(short)
        before = processes_of(supervisor.pid)
        taken = {"holderIdentity": "another", "leaseDurationSeconds": 1}
        await kube.patch(typed(Lease), SCHEDULER_LEASE, merge_patch({"spec": taken}))

        async def is_started_again() -> bool:
            return restarts(short, "control-plane", "scheduler") == 1

        await until(kube, is_started_again, "the scheduler is started again")
        await create(kube, namespace(), database())
        await phases(kube, RUNNING)
        assert processes_of(supervisor.pid) == before
        others = ("controller", "provisioner local.plimsoll.dev", "provisioner pools.plimsoll.dev")
        assert [restarts(short, "control-plane", each) for each in others] == [0, 0, 0]
        await kube.close()


@pytest.mark.timeout(300)
async def test_the_api_server_answers_while_the_machine_process_stands_still(short: Path) -> None:
    """As it does while a file system check or a full disk blocks it. What was asked for meanwhile
    comes about afterwards."""
    with up(short, "--hollow") as supervisor:
        kube, machine = client(short), processes_of(supervisor.pid)["machine"]
        os.kill(machine, signal.SIGSTOP)
        try:
            await create(kube, namespace(), database())
            assert await kube.raw_get("/readyz") == b"ok"
        finally:
            with suppress(ProcessLookupError):  # what stands still for long is replaced
                os.kill(machine, signal.SIGCONT)
        await phases(kube, RUNNING)
        await kube.close()


@pytest.mark.parametrize("command", ["control-plane", "machine"])
def test_a_process_of_a_cluster_that_does_not_exist_says_how_to_make_one(
    tmp_path: Path, command: str
) -> None:
    program = "from plimsoll.ui.cli.main import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", program, command, "--data-dir", str(tmp_path / "none")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "plimsoll up makes one" in ended.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("plimsoll.ui.cli.up", {"numpy", "grpc", "aiohttp", "uvicorn", "plimsoll.apiserver"}),
        ("plimsoll.ui.cli.control_plane", {"aiohttp"}),
        ("plimsoll.ui.cli.machine", {"numpy", "uvicorn", "cryptography", "plimsoll.apiserver"}),
    ],
)
def test_a_process_loads_nothing_that_it_does_not_need(module: str, heavy: set[str]) -> None:
    """Memory and the time to start are those of what is loaded."""
    program = f"import sys, {module}; print(*sys.modules, sep='\\n')"
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert heavy.isdisjoint(told.stdout.splitlines())
