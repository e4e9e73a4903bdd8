"""`plimsoll provisioner --prepare-swap-back`, as a process on the embedded server."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plimsoll.decide.annotations import UNUSED_SINCE_MADE
from plimsoll.decide.provisioning.intents import (
    Intent,
    IntentState,
    StoredIntent,
    announcement_document,
    lease_document,
)
from tests.servers import EmbeddedServer

PLIMSOLL = Path(sys.executable).with_name("plimsoll")
DRIVER = "disks.test"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path) as running:
        yield running


def create(server: EmbeddedServer, path: str, document: dict[str, Any]) -> dict[str, Any]:
    code, answer = server.endpoint.request("POST", path, document)
    assert code == 201, answer.get("message")
    return dict(answer)


def a_claim(server: EmbeddedServer, name: str) -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    metadata = {"name": name, "namespace": "default"}
    document = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
    return create(server, CLAIMS, {**document, "spec": spec})


def an_intent(
    server: EmbeddedServer, claim: dict[str, Any], state: IntentState, driver: str = DRIVER
) -> str:
    uid = claim["metadata"]["uid"]
    kept = {**claim, "metadata": {k: claim["metadata"][k] for k in ("namespace", "name", "uid")}}
    intent = Intent(driver=driver, claim=kept, volume_name=f"pvc-{uid}", state=state)
    create(server, LEASES, lease_document(StoredIntent(intent=intent), "default"))
    return intent.name


def leases(server: EmbeddedServer) -> set[str]:
    _, listed = server.endpoint.request("GET", f"{LEASES}?labelSelector=plimsoll.dev/record")
    return {lease["metadata"]["name"] for lease in listed["items"]}


def prepared(server: EmbeddedServer, *more: str) -> tuple[int, str]:
    kubeconfig = f"--kubeconfig={server.endpoint.kubeconfig}"
    return called(f"--prepare-swap-back={DRIVER}", kubeconfig, *more)


def called(*arguments: str) -> tuple[int, str]:
    command = [str(PLIMSOLL), "provisioner", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return ended.returncode, ended.stdout + ended.stderr


def a_gone_claim() -> dict[str, Any]:
    metadata = {
        "namespace": "default",
        "name": "gone",
        "uid": "7f0e7d0c-0000-4000-8000-000000000001",
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {}}


def test_a_driver_that_nothing_names_is_remarked(server: EmbeddedServer) -> None:
    an_intent(server, a_claim(server, "waiting"), IntentState.CALLING, "another.test")
    code, told = prepared(server)
    assert code == 0
    assert f"remark: no class and no volume names the driver {DRIVER}; is that its name?" in told


def test_it_clears_what_is_safe_and_fails_until_the_rest_is_settled(
    server: EmbeddedServer,
) -> None:
    waiting = a_claim(server, "waiting")
    begun = an_intent(server, waiting, IntentState.CALLING)
    undone = an_intent(server, a_gone_claim(), IntentState.UNDONE)
    other = an_intent(server, a_claim(server, "other"), IntentState.CALLING, "another.test")
    create(server, LEASES, announcement_document(DRIVER, "default"))
    before = leases(server)

    code, told = prepared(server, "--dry-run")
    assert (code, leases(server)) == (1, before)
    assert "would clear" in told

    code, told = prepared(server)
    assert (code, leases(server)) == (1, {begun, other})
    for part in (begun, "default/waiting", "Calling", undone, "let plimsoll provisioner run"):
        assert part in told
    assert other not in told

    volume: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": f"pvc-{waiting['metadata']['uid']}",
            "annotations": {UNUSED_SINCE_MADE: "an earlier watch", "of.others": "stays"},
        },
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": DRIVER, "volumeHandle": "1"},
        },
    }
    create(server, VOLUMES, volume)
    code, told = prepared(server)
    assert (code, leases(server)) == (0, {other})
    assert "csi-provisioner can take over" in told
    _, cleared = server.endpoint.request("GET", f"{VOLUMES}/{volume['metadata']['name']}")
    assert cleared["metadata"]["annotations"] == {"of.others": "stays"}
    assert prepared(server) == (
        0,
        f"Nothing is outstanding for {DRIVER}: csi-provisioner can take over.\n",
    )


def test_a_server_that_is_not_there_is_exit_code_1_and_a_stray_dry_run_bad_usage(
    tmp_path: Path,
) -> None:
    with EmbeddedServer(tmp_path) as server:
        gone = server
    assert prepared(gone)[0] == 1
    code, told = called("--dry-run")
    assert (code, "--prepare-swap-back" in told) == (2, True)
