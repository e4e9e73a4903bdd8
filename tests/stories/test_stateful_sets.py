"""Pods of a StatefulSet come and go in order, with names and claims that stay theirs."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.processes.controller.workloads.stateful_set import StatefulSets
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.workload_objects import (
    LABELS,
    image_of,
    new_image,
    pod_quota,
    stateful_set,
    template,
)

SET = "StatefulSet"
CLAIM = "PersistentVolumeClaim"


async def scale(cluster: StoryCluster, replicas: int) -> None:
    await cluster.patch(SET, "web", {"spec": {"replicas": replicas}})
    await cluster.settle()


async def status(cluster: StoryCluster) -> Document:
    found: Document = (await cluster.get(SET, "web"))["status"]
    return found


async def images(cluster: StoryCluster) -> list[str]:
    return [image_of(pod) for pod in await cluster.all("Pod")]


async def owners(cluster: StoryCluster, claim: str) -> list[tuple[str, str]]:
    found = await cluster.get(CLAIM, claim)
    references = found["metadata"].get("ownerReferences", [])
    return [(reference["kind"], reference["name"]) for reference in references]


async def test_pods_start_one_after_the_other_when_the_one_before_is_ready() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set())
        await cluster.settle()
        assert await cluster.names("Pod") == ["web-0"]
        await cluster.mark_running("web-0", ready=False)
        await cluster.settle()
        assert await cluster.names("Pod") == ["web-0"]
        await cluster.mark_running("web-0")
        await cluster.settle()
        assert await cluster.names("Pod") == ["web-0", "web-1"]
        await cluster.run_pods()
        assert await cluster.names("Pod") == ["web-0", "web-1", "web-2"]


class CountedStatefulSets(StatefulSets):
    """Counts how often sets are looked at: each look at a set goes through all of its pods."""

    looks = 0

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        self.looks += 1
        return await super().reconcile(key)


async def test_a_large_set_is_looked_at_only_when_what_it_decides_by_has_changed() -> None:
    async with a_cluster(more={"statefulset": CountedStatefulSets}) as cluster:
        loop = cluster.controllers[0].loops["statefulset"]
        assert isinstance(loop, CountedStatefulSets)
        await cluster.add_node("node-1")
        await cluster.create(stateful_set(replicas=8))
        await cluster.run_pods()
        assert await cluster.names("Pod") == [f"web-{number}" for number in range(8)]
        made = loop.looks
        for number in range(8):
            bound = {"status": {"phase": "Bound"}}
            await cluster.patch(CLAIM, f"data-web-{number}", bound, subresource="status")
            told = {"metadata": {"annotations": {"note": "read by people"}}}
            await cluster.patch("Pod", f"web-{number}", told)
            await cluster.settle()
        assert loop.looks == made
        assert made <= 8 * 4


async def test_a_set_reports_again_what_another_writer_has_changed_in_its_status() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set())
        await cluster.run_pods()
        wrong = {"status": {"updatedReplicas": 1}}
        await cluster.patch(SET, "web", wrong, subresource="status")
        await cluster.settle()
        assert (await status(cluster))["updatedReplicas"] == 3


async def test_a_parallel_set_starts_all_pods_at_once() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(podManagementPolicy="Parallel"))
        await cluster.settle()
        assert await cluster.names("Pod") == ["web-0", "web-1", "web-2"]
        assert await cluster.names(CLAIM) == ["data-web-0", "data-web-1", "data-web-2"]


async def test_a_pod_knows_its_name_its_number_its_claim_and_its_revision() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(ordinals={"start": 5}, replicas=1))
        await cluster.settle()
        pod = await cluster.get("Pod", "web-5")
        labels = pod["metadata"]["labels"]
        assert labels["statefulset.kubernetes.io/pod-name"] == "web-5"
        assert labels["apps.kubernetes.io/pod-index"] == "5"
        assert labels["controller-revision-hash"] == (await status(cluster))["updateRevision"]
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-5", "web")
        assert pod["spec"]["volumes"][0] == {
            "name": "data",
            "persistentVolumeClaim": {"claimName": "data-web-5"},
        }
        claim = await cluster.get(CLAIM, "data-web-5")
        assert claim["metadata"]["labels"] == {"kind": "data"} | LABELS


async def test_the_status_counts_what_there_is() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(podManagementPolicy="Parallel"))
        await cluster.settle()
        await cluster.mark_running("web-1")
        await cluster.settle()
        counts = await status(cluster)
        assert (counts["replicas"], counts["readyReplicas"], counts["availableReplicas"]) == (
            3,
            1,
            1,
        )
        assert (counts["currentReplicas"], counts["updatedReplicas"]) == (3, 3)
        assert counts["currentRevision"] == counts["updateRevision"]
        assert counts["observedGeneration"] == 1


async def test_pods_are_available_only_after_they_were_ready_for_long_enough() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(replicas=2, minReadySeconds=30))
        await cluster.settle()
        await cluster.mark_running("web-0")
        await cluster.wait(timedelta(seconds=29))
        assert await cluster.names("Pod") == ["web-0"]
        assert (await status(cluster)).get("availableReplicas", 0) == 0
        await cluster.wait(timedelta(seconds=2))
        assert await cluster.names("Pod") == ["web-0", "web-1"]
        assert (await status(cluster))["availableReplicas"] == 1


async def test_scaling_down_takes_the_highest_numbers_one_by_one_and_keeps_their_claims() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.add_node("node-1")
        await cluster.create(stateful_set())
        await cluster.run_pods()
        for pod in await cluster.names("Pod"):
            await cluster.bind(pod, "node-1")
        await scale(cluster, 1)
        leaving = [p for p in await cluster.all("Pod") if "deletionTimestamp" in p["metadata"]]
        assert [pod["metadata"]["name"] for pod in leaving] == ["web-2"]
        await cluster.end_pods()
        await cluster.settle()
        assert await cluster.end_pods() == ["web-1"]
        await cluster.settle()
        assert await cluster.names("Pod") == ["web-0"]
        assert await cluster.names(CLAIM) == ["data-web-0", "data-web-1", "data-web-2"]
        await scale(cluster, 2)
        assert await cluster.names("Pod") == ["web-0", "web-1"]


async def test_a_pod_that_is_being_deleted_holds_up_an_ordered_set() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.add_node("node-1")
        await cluster.create(stateful_set(replicas=2))
        await cluster.run_pods()
        await cluster.bind("web-0", "node-1")
        await cluster.delete("Pod", "web-0")
        await scale(cluster, 3)
        assert await cluster.names("Pod") == ["web-0", "web-1"]
        await cluster.run_pods()
        assert await cluster.names("Pod") == ["web-0", "web-1", "web-2"]


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
async def test_a_pod_that_ended_is_made_anew_under_its_name(phase: str) -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(replicas=2))
        await cluster.run_pods()
        before = (await cluster.get("Pod", "web-0"))["metadata"]["uid"]
        await cluster.mark_finished("web-0", phase=phase)
        await cluster.run_pods()
        after = await cluster.get("Pod", "web-0")
        assert after["metadata"]["uid"] != before
        assert after["status"]["phase"] == "Running"


async def test_an_update_goes_from_the_highest_number_down_to_the_partition() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(updateStrategy=rolling))
        await cluster.run_pods()
        await cluster.patch(SET, "web", new_image("web:2"))
        await cluster.settle()
        assert await images(cluster) == ["web:1", "web:1", "web:2"]
        await cluster.run_pods()
        assert await images(cluster) == ["web:1", "web:2", "web:2"]
        counts = await status(cluster)
        assert (counts["currentReplicas"], counts["updatedReplicas"]) == (1, 2)
        assert counts["currentRevision"] != counts["updateRevision"]
        # Below the partition a pod comes back as it was.
        await cluster.delete("Pod", "web-0")
        await cluster.run_pods()
        assert await images(cluster) == ["web:1", "web:2", "web:2"]
        patch = {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}
        await cluster.patch(SET, "web", patch)
        await cluster.run_pods()
        assert await images(cluster) == ["web:2", "web:2", "web:2"]
        counts = await status(cluster)
        assert counts["currentRevision"] == counts["updateRevision"]


async def test_a_parallel_set_updates_as_many_pods_at_once_as_may_be_missing() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    parallel = stateful_set(podManagementPolicy="Parallel", updateStrategy=rolling, replicas=4)
    async with a_cluster("statefulset") as cluster:
        await cluster.create(parallel)
        await cluster.run_pods()
        await cluster.patch(SET, "web", new_image("web:2"))
        await cluster.settle()
        assert await images(cluster) == ["web:1", "web:1", "web:2", "web:2"]
        await cluster.run_pods()
        assert set(await images(cluster)) == {"web:2"}


async def test_on_delete_updates_only_pods_that_a_user_deletes() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(updateStrategy={"type": "OnDelete"}))
        await cluster.run_pods()
        await cluster.patch(SET, "web", new_image("web:2"))
        await cluster.run_pods()
        assert set(await images(cluster)) == {"web:1"}
        await cluster.delete("Pod", "web-1")
        await cluster.run_pods()
        assert await images(cluster) == ["web:1", "web:2", "web:1"]


async def test_a_template_that_returns_gets_its_old_revision_back() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(replicas=1))
        await cluster.run_pods()
        first = (await status(cluster))["currentRevision"]
        await cluster.patch(SET, "web", new_image("web:2"))
        await cluster.run_pods()
        assert (await status(cluster))["currentRevision"] != first
        await cluster.patch(SET, "web", new_image("web:1"))
        await cluster.run_pods()
        assert (await status(cluster))["currentRevision"] == first
        numbers = {r["metadata"]["name"]: r["revision"] for r in await _revisions(cluster)}
        assert numbers[first] == 3
        assert len(numbers) == 2


async def _revisions(cluster: StoryCluster) -> list[Document]:
    return await cluster.all("ControllerRevision")


async def test_old_revisions_beyond_the_limit_are_forgotten() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(replicas=1, revisionHistoryLimit=1))
        for number in range(2, 6):
            await cluster.run_pods()
            await cluster.patch(SET, "web", new_image(f"web:{number}"))
        await cluster.run_pods()
        assert sorted(r["revision"] for r in await _revisions(cluster)) == [4, 5]


RETENTION = [
    pytest.param("Retain", "Retain", ["data-web-0", "data-web-1"], ["data-web-0", "data-web-1"]),
    pytest.param("Retain", "Delete", ["data-web-0", "data-web-1"], []),
    pytest.param("Delete", "Retain", ["data-web-0"], ["data-web-0"]),
    pytest.param("Delete", "Delete", ["data-web-0"], []),
]


@pytest.mark.parametrize(("when_scaled", "when_deleted", "scaled", "deleted"), RETENTION)
async def test_claims_go_or_stay_as_the_retention_policy_says(
    when_scaled: str, when_deleted: str, scaled: list[str], deleted: list[str]
) -> None:
    policy = {"whenScaled": when_scaled, "whenDeleted": when_deleted}
    async with a_cluster("statefulset", "garbage-collector", "claim-protection") as cluster:
        await cluster.create(stateful_set(replicas=2, persistentVolumeClaimRetentionPolicy=policy))
        await cluster.run_pods()
        assert await cluster.names(CLAIM) == ["data-web-0", "data-web-1"]
        await scale(cluster, 1)
        await cluster.run_pods()
        assert await cluster.names(CLAIM) == scaled
        await cluster.delete(SET, "web")
        await cluster.run_pods()
        assert await cluster.names("Pod") == []
        assert await cluster.names(CLAIM) == deleted


async def test_a_claim_belongs_to_its_pod_from_the_moment_on_that_the_pod_has_to_go() -> None:
    policy = {"whenScaled": "Delete", "whenDeleted": "Delete"}
    async with a_cluster("statefulset", "garbage-collector", "claim-protection") as cluster:
        await cluster.add_node("node-1")
        await cluster.create(stateful_set(replicas=2, persistentVolumeClaimRetentionPolicy=policy))
        await cluster.run_pods()
        await cluster.bind("web-1", "node-1")
        assert await owners(cluster, "data-web-1") == [(SET, "web")]
        await scale(cluster, 1)
        assert await owners(cluster, "data-web-1") == [("Pod", "web-1")]
        assert await owners(cluster, "data-web-0") == [(SET, "web")]
        await cluster.run_pods()
        assert await cluster.names(CLAIM) == ["data-web-0"]


async def test_a_policy_that_changes_later_is_applied_to_the_claims_that_there_are() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(replicas=1))
        await cluster.run_pods()
        assert await owners(cluster, "data-web-0") == []
        policy = {"whenScaled": "Retain", "whenDeleted": "Delete"}
        await cluster.patch(SET, "web", {"spec": {"persistentVolumeClaimRetentionPolicy": policy}})
        await cluster.settle()
        assert await owners(cluster, "data-web-0") == [(SET, "web")]


async def test_the_missing_claim_of_a_pod_that_waits_is_made_again() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(replicas=1))
        await cluster.settle()
        await cluster.patch(CLAIM, "data-web-0", {"metadata": {"finalizers": None}})
        await cluster.delete(CLAIM, "data-web-0")
        await cluster.settle()
        assert await cluster.names(CLAIM) == ["data-web-0"]


async def test_no_pod_is_made_while_its_claim_is_being_deleted() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(replicas=2))
        await cluster.run_pods()
        await cluster.delete(CLAIM, "data-web-1")
        await cluster.delete("Pod", "web-1")
        await cluster.settle()
        assert await cluster.names("Pod") == ["web-0"]
        told = await cluster.events("web")
        assert any(r == "FailedCreate" and "data-web-1 is being deleted" in m for r, m in told)
        await cluster.patch(CLAIM, "data-web-1", {"metadata": {"finalizers": None}})
        await cluster.settle()
        assert await cluster.names("Pod") == ["web-0", "web-1"]
        assert await cluster.names(CLAIM) == ["data-web-0", "data-web-1"]


def a_stray(name: str) -> Document:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]
    metadata = {"name": name, "namespace": "default", "labels": LABELS}
    spec = template(volumes=volumes)["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def test_a_pod_without_an_owner_is_adopted_if_it_has_the_name_of_a_member() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(a_stray("web-0"), a_stray("other"))
        await cluster.create(stateful_set(replicas=1))
        await cluster.settle()
        adopted, other = await cluster.get("Pod", "web-0"), await cluster.get("Pod", "other")
        assert [owner["name"] for owner in adopted["metadata"]["ownerReferences"]] == ["web"]
        assert "ownerReferences" not in other["metadata"]


async def test_a_pod_that_does_not_match_any_more_is_let_go_of() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set(replicas=1))
        await cluster.run_pods()
        await cluster.patch("Pod", "web-0", {"metadata": {"labels": {"app": "other"}}})
        await cluster.settle()
        pod = await cluster.get("Pod", "web-0")
        assert not pod["metadata"].get("ownerReferences")


async def test_a_refusal_of_the_server_is_told_and_tried_again() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(pod_quota(0), stateful_set(replicas=1))
        await cluster.settle()
        assert await cluster.names("Pod") == []
        assert any(reason == "FailedCreate" for reason, _ in await cluster.events("web"))
        await cluster.delete("ResourceQuota", "pods")
        await cluster.wait(timedelta(minutes=10))
        assert await cluster.names("Pod") == ["web-0"]


async def test_a_set_that_is_as_it_should_be_is_left_alone() -> None:
    async with a_cluster("statefulset") as cluster:
        await cluster.create(stateful_set())
        await cluster.run_pods()
        before = cluster.controllers[0].writes
        await cluster.wait(timedelta(hours=3))
        assert cluster.controllers[0].writes == before


async def grown(cluster: StoryCluster, cut_after: int | None) -> tuple[Any, int]:
    """Grow a set from one pod to three; the controller dies after that many writes, then another
    one goes on. What there is in the end, and how many writes the first controller made."""
    await cluster.create(stateful_set(replicas=1, claims=("data", "log")))
    await cluster.start("statefulset")
    await cluster.run_pods()
    await cluster.kill_controllers()
    await cluster.patch(SET, "web", {"spec": {"replicas": 3}})
    first = await cluster.start("statefulset", cut_after=cut_after)
    await cluster.run_pods()
    writes = first.writes
    await assert_pods_have_their_claims(cluster)
    if cut_after is not None:
        assert first.is_cut_off
        await cluster.kill_controllers()
        await cluster.start("statefulset")
        await cluster.run_pods()
    return await look(cluster), writes


async def assert_pods_have_their_claims(cluster: StoryCluster) -> None:
    claims = await cluster.names(CLAIM)
    for pod in await cluster.names("Pod"):
        assert {f"data-{pod}", f"log-{pod}"} <= set(claims)


async def look(cluster: StoryCluster) -> Any:
    pods = [(pod["metadata"]["name"], image_of(pod)) for pod in await cluster.all("Pod")]
    return pods, await cluster.names(CLAIM), await status(cluster)


async def test_a_controller_killed_after_any_write_leaves_nothing_half_done() -> None:
    async with a_cluster() as cluster:
        end, writes = await grown(cluster, None)
    assert [name for name, _ in end[0]] == ["web-0", "web-1", "web-2"]
    assert writes > 10
    for cut_after in range(1, writes + 1):
        async with a_cluster() as cluster:
            other, _ = await grown(cluster, cut_after)
        assert other == end, f"killed after write {cut_after} of {writes}"
