"""What users do by hand, seen from the objects that it leaves."""

from typing import Any

from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.simulator.cluster.mirror import (
    CLAIMS,
    CONTENTS,
    NODES,
    PODS,
    SNAPSHOTS,
    VOLUMES,
)
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.run import NoObserver, run_scenario
from plimsoll.simulator.scenario.file import parse_scenario

Document = dict[str, Any]
CLUSTER = """
lasting: 60s
cluster:
  zones: [a, b]
  drivers:
  - name: zonal.example
    pools: [{per: zone, size: 20Gi}]
  classes:
  - {name: zonal, driver: zonal.example}
  - {name: disk, driver: kubernetes.io/no-provisioner}
  - {name: inside, driver: in-process.sim}
  copies: {schedulers: 1, controllers: 1, provisioners: 1}
"""


class Seen(NoObserver):
    """Every state of every object, and the last one."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, str, Document | None]] = []
        self.last: dict[str, dict[str, Document]] = {}
        self._cluster: SimulatedCluster | None = None

    def attach(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        cluster.mirror.on_change.append(
            lambda kind, key, _before, after: self.changes.append((kind, key, after))
        )

    def end(self) -> None:
        assert self._cluster is not None
        self.last = {kind: dict(each) for kind, each in self._cluster.mirror.objects.items()}

    def uids(self, kind: str, key: str) -> set[str]:
        return {
            after["metadata"]["uid"]
            for kind_, key_, after in self.changes
            if (kind_, key_) == (kind, key) and after is not None
        }


def played(events: str) -> Seen:
    seen = Seen()
    assert run_scenario(parse_scenario(CLUSTER + events), observer=seen).unknown == ()
    return seen


def test_pods_run_where_the_disks_are_that_were_made_by_hand() -> None:
    seen = played(
        """
actions:
- {at: 0s, do: createLocalVolumes, name: d, node: node-b-1-1, volumes: 2, className: disk}
- {at: 1s, do: createPods, name: p, pods: 3, className: disk}
"""
    )

    pods = seen.last[PODS].values()
    assert sorted(pod["status"]["phase"] for pod in pods) == ["Pending", "Running", "Running"]
    assert {pod["spec"].get("nodeName") for pod in pods} == {"node-b-1-1", None}
    assert {volume["status"]["phase"] for volume in seen.last[VOLUMES].values()} == {"Bound"}


def test_a_volume_that_a_driver_made_by_hand_is_used_before_a_new_one() -> None:
    seen = played(
        """
actions:
- {at: 0s, do: createZonalVolumes, name: v, zone: b, volumes: 1}
- {at: 5s, do: createPods, name: p, pods: 1}
"""
    )

    assert [*seen.last[VOLUMES]] == ["v-0"]
    assert seen.last[CLAIMS]["default/p-0"]["spec"]["volumeName"] == "v-0"
    assert seen.last[PODS]["default/p-0"]["spec"]["nodeName"] == "node-b-1-1"


def test_pods_and_claims_come_again_under_their_names() -> None:
    seen = played(
        """
actions:
- {at: 0s, do: createPods, name: p, pods: 1}
- {at: 20s, do: recreatePods, name: p, pods: 1}
"""
    )

    assert len(seen.uids(PODS, "default/p-0")) == len(seen.uids(CLAIMS, "default/p-0")) == 2
    assert seen.last[PODS]["default/p-0"]["status"]["phase"] == "Running"
    assert len(seen.last[VOLUMES]) == 1


def test_pods_that_come_again_without_their_claims_get_the_same_volumes() -> None:
    seen = played(
        """
actions:
- {at: 0s, do: createPods, name: p, pods: 1}
- {at: 20s, do: recreatePods, name: p, pods: 1, withClaims: false}
"""
    )

    assert len(seen.uids(PODS, "default/p-0")) == 2
    assert len(seen.uids(CLAIMS, "default/p-0")) == 1
    assert seen.last[PODS]["default/p-0"]["status"]["phase"] == "Running"


def test_volumes_made_by_hand_come_again_under_their_names() -> None:
    disk = "name: d, node: node-a-1-1, volumes: 1, className: disk"
    seen = played(
        f"""
actions:
- {{at: 0s, do: createLocalVolumes, {disk}}}
- {{at: 5s, do: recreateLocalVolumes, {disk}}}
"""
    )

    assert len(seen.uids(VOLUMES, "d-0")) == 2
    assert seen.last[VOLUMES]["d-0"]["status"]["phase"] == "Available"


def test_a_selected_node_that_is_taken_off_while_the_volume_is_made_is_chosen_anew() -> None:
    seen = played(
        """
actions:
- {at: 1s, do: createPods, name: p, pods: 1}
- {at: 4s, do: forgetSelectedNode, name: p}
faults:
- {at: 0s, do: driverHangs, driver: zonal.example, lasting: 8s, times: 1}
"""
    )

    selected = [
        after["metadata"].get("annotations", {}).get(SELECTED_NODE, "")
        for kind, _, after in seen.changes
        if kind == CLAIMS and after is not None
    ]
    chosen = [*dict.fromkeys(node for node in selected if node)]
    assert selected.index("") < selected.index(chosen[0])
    assert "" in selected[selected.index(chosen[0]) :]
    assert chosen == [chosen[0], seen.last[PODS]["default/p-0"]["spec"]["nodeName"]]


def test_nodes_that_are_selected_can_be_deleted_and_come_back_with_their_process() -> None:
    seen = played(
        """
actions:
- {at: 1s, do: createPods, name: p, pods: 1}
- {at: 4s, do: deleteSelectedNodes, name: p}
faults:
- {at: 0s, do: driverHangs, driver: zonal.example, lasting: 8s, times: 1}
- {at: 30s, do: cut, what: nodes a-1, lasting: 1s}
- {at: 30s, do: cut, what: nodes b-1, lasting: 1s}
"""
    )

    gone = [key for kind, key, after in seen.changes if kind == NODES and after is None]
    assert len(gone) == 1
    assert seen.last[PODS]["default/p-0"]["status"]["phase"] == "Running"
    assert len(seen.last[NODES]) == 2


def test_a_snapshot_is_taken_restored_and_deleted() -> None:
    seen = played(
        """
actions:
- {at: 0s, do: createPods, name: p, pods: 1, size: 2Gi}
- {at: 10s, do: takeSnapshot, name: s, claim: p-0}
- {at: 20s, do: restoreSnapshot, name: r, snapshot: s, size: 2Gi}
- {at: 40s, do: deleteSnapshot, name: s}
"""
    )

    assert {key for kind, key, _ in seen.changes if kind == SNAPSHOTS} == {"default/s"}
    assert seen.last[SNAPSHOTS] == seen.last[CONTENTS] == {}
    assert seen.last[PODS]["default/r"]["status"]["phase"] == "Running"
    assert seen.last[CLAIMS]["default/r"]["spec"]["dataSource"]["name"] == "s"


def test_a_claim_is_cloned_and_grows() -> None:
    seen = played(
        """
actions:
- {at: 0s, do: createPods, name: p, pods: 1}
- {at: 10s, do: cloneClaim, name: c, claim: p-0}
- {at: 20s, do: growClaim, claim: c, size: 3Gi}
- {at: 20s, do: growClaim, claim: unknown, size: 3Gi}
"""
    )

    assert seen.last[CLAIMS]["default/c"]["status"]["capacity"]["storage"] == "3Gi"
    assert seen.last[CLAIMS]["default/p-0"]["status"]["capacity"]["storage"] == "1Gi"


def test_what_cannot_be_copied_is_not_waited_for() -> None:
    seen = played(
        """
actions:
- {at: 0s, do: createPods, name: p, pods: 1, size: 2Gi}
- {at: 10s, do: restoreSnapshot, name: r, snapshot: unknown}
- {at: 10s, do: cloneClaim, name: smaller, claim: p-0, size: 1Gi}
- {at: 10s, do: growClaim, claim: p-0, size: 1Gi}
"""
    )

    assert seen.last[PODS]["default/r"]["status"]["phase"] == "Pending"
    assert seen.last[PODS]["default/smaller"]["status"]["phase"] == "Pending"


def test_controllers_that_are_killed_while_they_provision_leave_nothing_behind() -> None:
    seen = played(
        """
actions:
- {at: 0s, do: createPods, name: kept, pods: 3, className: inside}
- {at: 2s, do: createPods, name: gone, pods: 3, className: inside}
- {at: 4s, do: deletePods, name: gone}
faults:
- {at: 0s, do: cut, what: controller-0, afterWrites: 3}
- {at: 6s, do: cut, what: controller-0, afterWrites: 2}
"""
    )

    assert {pod["status"]["phase"] for pod in seen.last[PODS].values()} == {"Running"}
    assert {*seen.last[PODS]} == {"default/kept-0", "default/kept-1", "default/kept-2"}
    assert len(seen.last[VOLUMES]) == 3
