"""Types the commands of a group of pages, each group on a loopback of its own.

Pages that go on where another one ends share its cluster. A loopback of their own lets the usual
ports be free.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import script
from tests.kubectl.command import find_kubectl

ON_A_CLUSTER = "a cluster of plimsoll up"
ON_CEPH = "a Ceph cluster"
"""Run by tests/ceph."""
GROUPS = {
    ON_A_CLUSTER: [
        "docs/tutorial/first-cluster.md",
        "docs/how-to/read-capacity.md",
        "docs/how-to/take-snapshots.md",
        "docs/how-to/run-a-node.md",
        "docs/how-to/expand-volumes.md",
        "docs/how-to/repair.md",
        "docs/how-to/take-back-unused-volumes.md",
    ],
    "a drained node": ["docs/how-to/drain-a-node.md"],
    "a lost zone": ["docs/how-to/take-over-a-domain.md"],
    "processes one by one": ["docs/tutorial/first-driver.md"],
    "the API server alone": [
        "docs/how-to/run-the-api-server.md",
        "docs/how-to/connect-with-kubectl.md",
        "docs/how-to/upgrade-zonal.md",
        "docs/how-to/define-custom-resources.md",
    ],
    "a driver alone": ["docs/how-to/simulate-network-storage.md"],
    "a simulated cluster": ["docs/how-to/simulate-a-cluster.md"],
    ON_CEPH: ["docs/tutorial/ceph-zones.md", "docs/how-to/move-from-ceph-csi.md"],
    "a driver on local disks": ["docs/how-to/use-local-disks.md"],
}
SECONDS = 540
LONE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec bash "$@"', "sh")


def typed(pages: list[str], directory: Path, logs: Path, *lone: str) -> None:
    """Type all commands of the pages, in a shell that begins in the directory."""
    program = logs / "pages.sh"
    program.write_text(script(pages))
    kubectl = find_kubectl()
    tools = [Path(sys.executable).parent, *([Path(kubectl).parent] if kubectl else [])]
    path = os.pathsep.join([*map(str, tools), os.environ["PATH"]])
    command = [*(lone or ("bash",)), str(program), str(logs), str(directory)]
    said = logs / "said"
    with said.open("w") as output:
        environment = {**os.environ, "PATH": path, "HOME": str(logs)}
        shell = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        code = None
        try:
            code = shell.wait(SECONDS)
        except subprocess.TimeoutExpired:
            output.write(f"not at its end after {SECONDS} seconds\n")
        finally:
            shell.terminate()  # the shell stops what it has started, whatever ended the test
            shell.wait()
    servers = "".join(path.read_text() for path in logs.glob("*.err"))
    assert code == 0, f"{said.read_text()[-4000:]}\n{servers[-2000:]}"


def type_group(group: str, directory: Path, logs: Path) -> None:
    """All commands of the group's pages work in their order."""
    if os.geteuid() != 0:
        pytest.skip("mounts, and loopback of their own, need root")
    missing = [tool for tool in ("unshare", "ip", "curl") if shutil.which(tool) is None]
    if find_kubectl() is None or missing:
        pytest.skip(f"the pages need kubectl, unshare, ip and curl; missing: {missing}")
    typed(GROUPS[group], directory, logs, *LONE)
