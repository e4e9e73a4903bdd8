"""helm on a cluster of ours: a small chart is installed, changed, rolled back and uninstalled.

`--wait` is given wherever helm has it: our controllers, scheduler and nodes have to make the pods
ready that it waits for.
"""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance import peers
from conformance.clients.cluster import ClientCluster, client_cluster, finished
from plimsoll.api.registry import Document

Say = Callable[[str], None]
RELEASE, NAMESPACE = "lantern", "coast"
CHART = Path(__file__).with_name("chart")
CORE = f"/api/v1/namespaces/{NAMESPACE}"
SET = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets/{RELEASE}"
ROLE = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/roles/{RELEASE}"
WAIT = ("--wait", "--timeout=90s")


@dataclass(frozen=True, slots=True)
class Helm:
    """The command, told the cluster and the namespace, and where it may keep its files."""

    program: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str) -> str:
        return finished([str(self.program), *arguments, *self._where()], self.environment).stdout

    def ask(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--output=json"))

    def refused(self, *arguments: str) -> str:
        """What it says about a command that must fail."""
        command = [str(self.program), *arguments, *self._where()]
        ended = subprocess.run(
            command, env=dict(self.environment), capture_output=True, text=True, check=False
        )
        assert ended.returncode != 0, f"not refused: {ended.stdout}"
        return ended.stderr

    def _where(self) -> tuple[str, ...]:
        return (f"--namespace={NAMESPACE}",)


def run(say: Say) -> None:
    """Raises AssertionError when helm, or the cluster, does not do its part."""
    program = peers.build(peers.HELM)
    with client_cluster() as cluster:
        homes = ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")
        own = {name: str(cluster.directory / name.lower()) for name in homes}
        own["KUBECONFIG"] = str(cluster.endpoint.kubeconfig)
        helm = Helm(program, {**os.environ, **own})
        say(f"helm {helm.run('version', '--template={{.Version}}')}")
        for story in STORIES:
            name: str = getattr(story, "__name__", "")
            say(name.removeprefix("story_").replace("_", " "))
            story(cluster, helm)


def story_install_waits_until_the_pods_are_ready(cluster: ClientCluster, helm: Helm) -> None:
    released = helm.ask("install", RELEASE, str(CHART), "--create-namespace", *WAIT)
    assert released["info"]["status"] == "deployed", released["info"]
    assert _ready(cluster) == 2, "helm did not wait"
    for pod in (0, 1):
        claim = cluster.find(f"{CORE}/persistentvolumeclaims/data-{RELEASE}-{pod}")
        assert claim, "a pod is ready without its claim"
        assert claim["status"]["phase"] == "Bound", claim["status"]
    system = cluster.find("/api/v1/namespaces/kube-system")
    assert system, "there is no kube-system"
    # The template looks this up in the cluster.
    wanted = {"message": "first light", "cluster": system["metadata"]["uid"]}
    assert _config(cluster) == wanted, _config(cluster)
    assert cluster.find(ROLE)
    assert "still in use" in helm.refused("install", RELEASE, str(CHART))


def story_a_rehearsal_changes_nothing(cluster: ClientCluster, helm: Helm) -> None:
    before = _set(cluster)["metadata"]["resourceVersion"]
    said = helm.run("upgrade", RELEASE, str(CHART), "--set=replicas=9", "--dry-run=server")
    assert "replicas: 9" in said, said
    assert _set(cluster)["metadata"]["resourceVersion"] == before


def story_upgrade_replaces_the_pods_and_adds_one(cluster: ClientCluster, helm: Helm) -> None:
    old = _pod(cluster, 0)["metadata"]["uid"]
    changes = "--set=replicas=3,message=second light"
    released = helm.ask("upgrade", RELEASE, str(CHART), changes, *WAIT)
    assert (released["version"], released["info"]["status"]) == (2, "deployed")
    assert _ready(cluster) == 3
    assert _config(cluster)["message"] == "second light"
    new = _pod(cluster, 0)["metadata"]
    assert new["uid"] != old, "the pod was not replaced"
    assert new["annotations"]["message"] == "second light"


def story_an_upgrade_of_claims_is_refused_and_recorded(_: ClientCluster, helm: Helm) -> None:
    said = helm.refused("upgrade", RELEASE, str(CHART), "--reuse-values", "--set=size=128Mi")
    assert 'StatefulSet.apps "lantern" is invalid: spec.volumeClaimTemplates' in said, said
    assert [each["status"] for each in helm.ask("history", RELEASE)] == [
        "superseded",
        "deployed",
        "failed",
    ]


def story_rollback_brings_the_first_revision_back(cluster: ClientCluster, helm: Helm) -> None:
    helm.run("rollback", RELEASE, "1", *WAIT)
    assert _ready(cluster) == 2
    assert _config(cluster)["message"] == "first light"
    assert _pod(cluster, 0)["metadata"]["annotations"]["message"] == "first light"
    cluster.wait_gone(f"{CORE}/pods/{RELEASE}-2")


def story_history_has_every_revision(_: ClientCluster, helm: Helm) -> None:
    history = [(each["revision"], each["status"]) for each in helm.ask("history", RELEASE)]
    wanted = [(1, "superseded"), (2, "superseded"), (3, "failed"), (4, "deployed")]
    assert history == wanted, history
    [listed] = helm.ask("list")
    assert (listed["name"], listed["revision"], listed["status"]) == (RELEASE, "4", "deployed")
    assert "kind: StatefulSet" in helm.run("get", "manifest", RELEASE)


def story_uninstall_leaves_the_claims_and_nothing_else(cluster: ClientCluster, helm: Helm) -> None:
    helm.run("uninstall", RELEASE, *WAIT)
    for path in (SET, ROLE, f"{CORE}/services/{RELEASE}", f"{CORE}/configmaps/{RELEASE}"):
        assert cluster.find(path) is None, f"still there: {path}"
    assert helm.ask("list", "--all") == []
    secrets = cluster.find(f"{CORE}/secrets")
    assert secrets, "secrets are not listed"
    assert secrets["items"] == [], "records of releases are left"
    cluster.wait_gone(f"{CORE}/pods/{RELEASE}-0")
    claims = cluster.find(f"{CORE}/persistentvolumeclaims")
    assert claims, "claims are not listed"
    names = [each["metadata"]["name"] for each in claims["items"]]
    assert names == [f"data-{RELEASE}-{pod}" for pod in range(3)], names


def _set(cluster: ClientCluster) -> Document:
    found = cluster.find(SET)
    assert found, "there is no StatefulSet"
    return found


def _ready(cluster: ClientCluster) -> int:
    ready: int = _set(cluster)["status"].get("readyReplicas", 0)
    return ready


def _pod(cluster: ClientCluster, number: int) -> Document:
    found = cluster.find(f"{CORE}/pods/{RELEASE}-{number}")
    assert found, f"there is no pod {number}"
    return found


def _config(cluster: ClientCluster) -> Document:
    found = cluster.find(f"{CORE}/configmaps/{RELEASE}")
    assert found, "there is no ConfigMap"
    data: Document = found["data"]
    return data


STORIES = (
    story_install_waits_until_the_pods_are_ready,
    story_a_rehearsal_changes_nothing,
    story_upgrade_replaces_the_pods_and_adds_one,
    story_an_upgrade_of_claims_is_refused_and_recorded,
    story_rollback_brings_the_first_revision_back,
    story_history_has_every_revision,
    story_uninstall_leaves_the_claims_and_nothing_else,
)
