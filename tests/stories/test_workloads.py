"""ReplicaSets, Deployments, DaemonSets and Jobs where no kube-controller-manager runs."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster, ready_names
from plimsoll.simulator.stories.workload_objects import (
    LABELS,
    daemon_set,
    deployment,
    image_of,
    job,
    new_image,
    pod_quota,
    replica_set,
    template,
)

ROLLOUT = ("replicaset", "deployment")


async def status(cluster: StoryCluster, kind: str, name: str) -> Document:
    found: Document = (await cluster.get(kind, name))["status"]
    return found


async def conditions(cluster: StoryCluster, kind: str, name: str) -> dict[str, tuple[str, str]]:
    found = await status(cluster, kind, name)
    return {c["type"]: (c["status"], c.get("reason", "")) for c in found.get("conditions", [])}


async def images(cluster: StoryCluster) -> list[str]:
    return sorted(image_of(pod) for pod in await cluster.all("Pod"))


async def pending(cluster: StoryCluster) -> list[str]:
    pods = await cluster.all("Pod")
    return [pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] == "Pending"]


def a_stray(name: str) -> Document:
    metadata = {"name": name, "namespace": "default", "labels": LABELS}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template()["spec"]}


# ReplicaSet


async def test_a_replica_set_has_as_many_pods_as_it_says() -> None:
    async with a_cluster("replicaset") as cluster:
        await cluster.create(replica_set())
        await cluster.run_pods()
        assert len(await cluster.names("Pod")) == 3
        await cluster.delete("Pod", (await cluster.names("Pod"))[0])
        await cluster.run_pods()
        assert len(await cluster.names("Pod")) == 3
        await cluster.patch("ReplicaSet", "web", {"spec": {"replicas": 1}})
        await cluster.run_pods()
        counts = await status(cluster, "ReplicaSet", "web")
        assert len(await cluster.names("Pod")) == 1
        assert (counts["replicas"], counts["readyReplicas"], counts["availableReplicas"]) == (
            1,
            1,
            1,
        )


async def test_pods_that_are_not_ready_go_first() -> None:
    async with a_cluster("replicaset") as cluster:
        await cluster.create(replica_set())
        await cluster.settle()
        _, keeper, _ = await cluster.names("Pod")
        await cluster.mark_running(keeper)
        await cluster.patch("ReplicaSet", "web", {"spec": {"replicas": 1}})
        await cluster.settle()
        assert await cluster.names("Pod") == [keeper]


async def test_a_replica_set_counts_pods_that_it_adopts_and_replaces_those_it_lets_go_of() -> None:
    async with a_cluster("replicaset") as cluster:
        await cluster.create(a_stray("found"), replica_set(replicas=2))
        await cluster.settle()
        assert len(await cluster.names("Pod")) == 2
        assert "found" in await cluster.names("Pod")
        await cluster.patch("Pod", "found", {"metadata": {"labels": {"app": "debug"}}})
        await cluster.settle()
        found = await cluster.get("Pod", "found")
        assert not found["metadata"].get("ownerReferences")
        assert len(await cluster.all("Pod", labels="app=web")) == 2


async def test_a_replica_set_says_why_it_cannot_have_its_pods() -> None:
    async with a_cluster("replicaset") as cluster:
        await cluster.create(pod_quota(1), replica_set())
        await cluster.settle()
        assert len(await cluster.names("Pod")) == 1
        told = await conditions(cluster, "ReplicaSet", "web")
        assert told["ReplicaFailure"] == ("True", "FailedCreate")
        assert any(reason == "FailedCreate" for reason, _ in await cluster.events("web"))
        await cluster.delete("ResourceQuota", "pods")
        await cluster.wait(timedelta(minutes=10))
        assert len(await cluster.names("Pod")) == 3
        assert await conditions(cluster, "ReplicaSet", "web") == {}


# Deployment


async def test_a_rollout_never_has_too_many_or_too_few_pods() -> None:
    async with a_cluster(*ROLLOUT) as cluster:
        await cluster.create(deployment(replicas=4))
        await cluster.run_pods()
        await cluster.patch("Deployment", "web", new_image("web:2"))
        for _ in range(20):
            await cluster.settle()
            pods = await cluster.all("Pod")
            assert len(pods) <= 5
            assert len(ready_names(pods)) >= 3
            await cluster.mark_running(*await pending(cluster))
        assert await images(cluster) == ["web:2"] * 4
        assert await conditions(cluster, "Deployment", "web") == {
            "Available": ("True", "MinimumReplicasAvailable"),
            "Progressing": ("True", "NewReplicaSetAvailable"),
        }
        counts = await status(cluster, "Deployment", "web")
        assert (counts["replicas"], counts["updatedReplicas"], counts["readyReplicas"]) == (4, 4, 4)


async def test_a_rollback_uses_the_old_replica_set_and_a_new_revision() -> None:
    async with a_cluster(*ROLLOUT) as cluster:
        await cluster.create(deployment())
        await cluster.run_pods()
        (first,) = await cluster.names("ReplicaSet")
        await cluster.patch("Deployment", "web", new_image("web:2"))
        await cluster.run_pods()
        await cluster.patch("Deployment", "web", new_image("web:1"))
        await cluster.run_pods()
        assert await images(cluster) == ["web:1"] * 3
        assert len(await cluster.names("ReplicaSet")) == 2
        found = await cluster.get("Deployment", "web")
        again = await cluster.get("ReplicaSet", first)
        revision = "deployment.kubernetes.io/revision"
        assert found["metadata"]["annotations"][revision] == "3"
        assert again["metadata"]["annotations"][revision] == "3"
        assert again["metadata"]["annotations"][f"{revision}-history"] == "1"
        assert again["spec"]["replicas"] == 3


async def test_recreate_makes_no_new_pod_before_every_old_one_is_gone() -> None:
    async with a_cluster(*ROLLOUT) as cluster:
        await cluster.add_node("node-1")
        await cluster.create(deployment(replicas=2, strategy={"type": "Recreate"}))
        await cluster.run_pods()
        for pod in await cluster.names("Pod"):
            await cluster.bind(pod, "node-1")
        await cluster.patch("Deployment", "web", new_image("web:2"))
        await cluster.settle()
        assert await images(cluster) == ["web:1"] * 2
        await cluster.end_pods()
        await cluster.settle()
        assert await images(cluster) == ["web:2"] * 2


async def test_a_paused_deployment_scales_but_does_not_replace() -> None:
    async with a_cluster(*ROLLOUT) as cluster:
        await cluster.create(deployment())
        await cluster.run_pods()
        await cluster.patch("Deployment", "web", {"spec": {"paused": True}})
        await cluster.patch("Deployment", "web", new_image("web:2"))
        await cluster.patch("Deployment", "web", {"spec": {"replicas": 5}})
        await cluster.run_pods()
        assert await images(cluster) == ["web:1"] * 5
        told = await conditions(cluster, "Deployment", "web")
        assert told["Progressing"] == ("Unknown", "DeploymentPaused")
        await cluster.patch("Deployment", "web", {"spec": {"paused": False}})
        await cluster.run_pods()
        assert await images(cluster) == ["web:2"] * 5


async def test_a_rollout_that_does_not_get_on_says_so_after_its_deadline() -> None:
    async with a_cluster(*ROLLOUT) as cluster:
        await cluster.create(deployment(progressDeadlineSeconds=60))
        await cluster.run_pods()
        await cluster.patch("Deployment", "web", new_image("broken:1"))
        await cluster.wait(timedelta(seconds=50))
        told = await conditions(cluster, "Deployment", "web")
        assert told["Progressing"][0] == "True"
        await cluster.wait(timedelta(seconds=20))
        told = await conditions(cluster, "Deployment", "web")
        assert told["Progressing"] == ("False", "ProgressDeadlineExceeded")
        assert told["Available"] == ("True", "MinimumReplicasAvailable")


async def test_old_replica_sets_beyond_the_limit_are_cleared_away() -> None:
    async with a_cluster(*ROLLOUT) as cluster:
        await cluster.create(deployment(revisionHistoryLimit=1))
        for number in range(2, 5):
            await cluster.run_pods()
            await cluster.patch("Deployment", "web", new_image(f"web:{number}"))
        await cluster.run_pods()
        sets = await cluster.all("ReplicaSet")
        revisions = [
            s["metadata"]["annotations"]["deployment.kubernetes.io/revision"] for s in sets
        ]
        assert sorted(revisions) == ["3", "4"]


async def test_a_deployment_passes_on_why_its_pods_are_missing() -> None:
    async with a_cluster(*ROLLOUT) as cluster:
        await cluster.create(pod_quota(1), deployment())
        await cluster.settle()
        told = await conditions(cluster, "Deployment", "web")
        assert told["ReplicaFailure"] == ("True", "FailedCreate")


async def rolled_out(cluster: StoryCluster, cut_after: int | None) -> tuple[Any, int]:
    await cluster.create(deployment(replicas=2))
    await cluster.start(*ROLLOUT)
    await cluster.run_pods()
    await cluster.kill_controllers()
    await cluster.patch("Deployment", "web", new_image("web:2"))
    first = await cluster.start(*ROLLOUT, cut_after=cut_after)
    await cluster.run_pods()
    writes = first.writes
    if cut_after is not None:
        assert first.is_cut_off
        await cluster.kill_controllers()
        await cluster.start(*ROLLOUT)
        await cluster.run_pods()
    counts = await status(cluster, "Deployment", "web")
    counts.pop("conditions")
    sizes = [s["spec"]["replicas"] for s in await cluster.all("ReplicaSet")]
    return (counts, await images(cluster), sizes), writes


async def test_a_rollout_is_finished_by_the_next_controller_after_a_crash() -> None:
    async with a_cluster() as cluster:
        end, writes = await rolled_out(cluster, None)
    assert end[1] == ["web:2"] * 2
    for cut_after in range(1, writes + 1):
        async with a_cluster() as cluster:
            other, _ = await rolled_out(cluster, cut_after)
        assert other == end, f"killed after write {cut_after} of {writes}"


# DaemonSet


async def test_daemons_follow_the_nodes() -> None:
    async with a_cluster("daemonset", "pod-gc") as cluster:
        await cluster.add_node("node-1")
        await cluster.add_node("node-2", zone="b")
        await cluster.create(daemon_set(template=template(nodeSelector={"zone": "b"})))
        await cluster.run_pods()
        assert await targets(cluster) == ["node-2"]
        await cluster.patch("Node", "node-1", {"metadata": {"labels": {"zone": "b"}}})
        await cluster.run_pods()
        assert await targets(cluster) == ["node-1", "node-2"]
        await cluster.delete("Node", "node-2")
        await cluster.run_pods()
        assert await targets(cluster) == ["node-1"]
        counts = await status(cluster, "DaemonSet", "agent")
        assert counts["desiredNumberScheduled"] == counts["numberAvailable"] == 1


async def targets(cluster: StoryCluster) -> list[str]:
    """Where the scheduler may put each pod."""
    affinities = [pod["spec"]["affinity"]["nodeAffinity"] for pod in await cluster.all("Pod")]
    required = [a["requiredDuringSchedulingIgnoredDuringExecution"] for a in affinities]
    return sorted(r["nodeSelectorTerms"][0]["matchFields"][0]["values"][0] for r in required)


async def test_daemons_keep_away_from_nodes_that_refuse_them_but_not_from_sick_ones() -> None:
    taints = {
        "node-1": {"key": "special", "effect": "NoSchedule"},
        "node-2": {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
        "node-3": {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
    }
    async with a_cluster("daemonset") as cluster:
        for name, taint in taints.items():
            await cluster.add_node(name)
            await cluster.patch("Node", name, {"spec": {"taints": [taint]}})
        await cluster.create(daemon_set())
        await cluster.settle()
        assert await targets(cluster) == ["node-2", "node-3"]


async def test_daemons_are_updated_one_node_after_the_other() -> None:
    async with a_cluster("daemonset") as cluster:
        for name in ("node-1", "node-2", "node-3"):
            await cluster.add_node(name)
        await cluster.create(daemon_set())
        await cluster.run_pods()
        await cluster.patch("DaemonSet", "agent", new_image("web:2"))
        await cluster.settle()
        assert await images(cluster) == ["web:1", "web:1", "web:2"]
        await cluster.run_pods()
        assert await images(cluster) == ["web:2"] * 3
        counts = await status(cluster, "DaemonSet", "agent")
        assert counts["updatedNumberScheduled"] == 3


async def test_a_daemon_that_fails_is_replaced_but_not_at_once_for_ever() -> None:
    async with a_cluster("daemonset") as cluster:
        await cluster.add_node("node-1")
        await cluster.create(daemon_set())
        await cluster.settle()
        replaced = 0
        for _ in range(60):
            for name in await pending(cluster):
                await cluster.mark_finished(name, phase="Failed")
                replaced += 1
            await cluster.wait(timedelta(seconds=1))
        assert 3 <= replaced <= 8
        assert any(reason == "FailedDaemonPod" for reason, _ in await cluster.events("agent"))


async def test_a_surge_of_daemons_is_refused_with_an_event() -> None:
    surge = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    async with a_cluster("daemonset") as cluster:
        await cluster.add_node("node-1")
        await cluster.create(daemon_set(updateStrategy=surge))
        await cluster.settle()
        assert await cluster.names("Pod") == []
        assert [reason for reason, _ in await cluster.events("agent")] == ["UnsupportedField"]


# Job


async def finish_all(cluster: StoryCluster, phase: str = "Succeeded") -> int:
    """Every pod that there is comes to its end, and so do those that replace it."""
    ended = 0
    for _ in range(60):
        names = await pending(cluster)
        await cluster.mark_finished(*names, phase=phase)
        ended += len(names)
        await cluster.wait(timedelta(minutes=1))
    return ended


async def test_a_job_runs_until_it_has_its_completions() -> None:
    async with a_cluster("job") as cluster:
        await cluster.create(job(completions=5, parallelism=2))
        await cluster.settle()
        assert len(await cluster.names("Pod")) == 2
        assert await finish_all(cluster) == 5
        told = await status(cluster, "Job", "work")
        assert told["succeeded"] == 5
        assert (await conditions(cluster, "Job", "work"))["Complete"][0] == "True"
        assert "completionTime" in told
        assert ("Completed", "Job completed") in await cluster.events("work")
        assert not any(p["metadata"].get("finalizers") for p in await cluster.all("Pod"))


async def test_an_indexed_job_runs_every_index_once() -> None:
    async with a_cluster("job") as cluster:
        await cluster.create(job(completions=4, parallelism=4, completionMode="Indexed"))
        await cluster.settle()
        pods = await cluster.all("Pod")
        indexes = [
            p["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for p in pods
        ]
        assert sorted(indexes) == ["0", "1", "2", "3"]
        assert {pod["spec"]["hostname"] for pod in pods} == {f"work-{i}" for i in range(4)}
        failing, *others = (pod["metadata"]["name"] for pod in pods)
        await cluster.mark_finished(*others)
        await cluster.mark_finished(failing, phase="Failed")
        await cluster.wait(timedelta(minutes=1))
        (again,) = await pending(cluster)
        assert again.startswith("work-0-")
        await cluster.mark_finished(again)
        await cluster.settle()
        told = await status(cluster, "Job", "work")
        assert (told["completedIndexes"], told["succeeded"], told["failed"]) == ("0-3", 4, 1)


async def test_a_job_waits_longer_after_every_failure_and_then_gives_up() -> None:
    async with a_cluster("job") as cluster:
        await cluster.create(job(backoffLimit=2))
        began = []
        for _ in range(120):
            await cluster.wait(timedelta(seconds=1))
            for name in await pending(cluster):
                began.append(cluster.clock.monotonic())
                await cluster.mark_finished(name, phase="Failed")
        pauses = [round(b - a, -1) for a, b in pairwise(began)]
        assert pauses == [10, 20]
        told = await conditions(cluster, "Job", "work")
        assert told["Failed"] == ("True", "BackoffLimitExceeded")
        assert (await status(cluster, "Job", "work"))["failed"] == 3


async def test_a_job_that_takes_too_long_is_ended() -> None:
    async with a_cluster("job") as cluster:
        await cluster.create(job(activeDeadlineSeconds=60))
        await cluster.settle()
        await cluster.mark_running(*await cluster.names("Pod"))
        await cluster.wait(timedelta(seconds=50))
        assert len(await cluster.names("Pod")) == 1
        await cluster.wait(timedelta(seconds=20))
        assert await cluster.names("Pod") == []
        told = await conditions(cluster, "Job", "work")
        assert told["Failed"] == ("True", "DeadlineExceeded")


async def test_a_suspended_job_has_no_pods_until_it_is_resumed() -> None:
    async with a_cluster("job") as cluster:
        await cluster.create(job(suspend=True))
        await cluster.settle()
        assert await cluster.names("Pod") == []
        assert (await conditions(cluster, "Job", "work"))["Suspended"][0] == "True"
        await cluster.patch("Job", "work", {"spec": {"suspend": False}})
        await cluster.settle()
        assert len(await cluster.names("Pod")) == 1
        await cluster.patch("Job", "work", {"spec": {"suspend": True}})
        await cluster.settle()
        assert await cluster.names("Pod") == []
        told = await status(cluster, "Job", "work")
        assert told.get("failed", 0) == 0


async def test_a_finished_job_is_deleted_when_its_time_is_over() -> None:
    async with a_cluster("job", "garbage-collector") as cluster:
        await cluster.create(job(ttlSecondsAfterFinished=100))
        await cluster.settle()
        await cluster.mark_finished(*await cluster.names("Pod"))
        await cluster.wait(timedelta(seconds=90))
        assert await cluster.names("Job") == ["work"]
        await cluster.wait(timedelta(seconds=20))
        assert await cluster.names("Job") == []
        assert await cluster.names("Pod") == []


async def test_pods_of_a_job_that_is_gone_are_not_held_back() -> None:
    async with a_cluster("job", "garbage-collector") as cluster:
        await cluster.create(job(parallelism=2, completions=2))
        await cluster.settle()
        await cluster.mark_running(*await cluster.names("Pod"))
        await cluster.delete("Job", "work", propagation="Background")
        await cluster.settle()
        assert await cluster.names("Pod") == []


async def test_pods_that_outlive_their_job_are_free() -> None:
    async with a_cluster("job", "garbage-collector") as cluster:
        await cluster.create(job(parallelism=2, completions=2))
        await cluster.settle()
        await cluster.mark_running(*await cluster.names("Pod"))
        await cluster.delete("Job", "work", propagation="Orphan")
        await cluster.settle()
        assert await cluster.names("Job") == []
        pods = await cluster.all("Pod")
        assert len(pods) == 2
        assert not any(pod["metadata"].get("finalizers") for pod in pods)


async def test_what_the_job_controller_cannot_do_is_refused_with_an_event() -> None:
    rules = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]
    async with a_cluster("job") as cluster:
        await cluster.create(job(podFailurePolicy={"rules": rules}))
        await cluster.settle()
        assert await cluster.names("Pod") == []
        ((reason, message),) = await cluster.events("work")
        assert reason == "UnsupportedField"
        assert "spec.podFailurePolicy" in message


async def worked(cluster: StoryCluster, cut_after: int | None) -> tuple[Any, int]:
    await cluster.create(job(completions=3, parallelism=2, backoffLimit=5))
    first = await cluster.start("job", cut_after=cut_after)
    await cluster.settle()
    if cut_after is None or not first.is_cut_off:
        (name, *_) = await pending(cluster)
        await cluster.mark_finished(name, phase="Failed")
        await finish_all(cluster)
    writes = first.writes
    if cut_after is not None:
        assert first.is_cut_off
        await cluster.kill_controllers()
        await cluster.start("job")
        await cluster.settle()
        await finish_all(cluster)
    told = await status(cluster, "Job", "work")
    return told["succeeded"], writes


async def test_every_success_is_counted_once_whatever_dies_in_between() -> None:
    async with a_cluster() as cluster:
        end, writes = await worked(cluster, None)
    assert end == 3
    for cut_after in range(1, writes + 1):
        async with a_cluster() as cluster:
            other, _ = await worked(cluster, cut_after)
        assert other == end, f"killed after write {cut_after} of {writes}"
