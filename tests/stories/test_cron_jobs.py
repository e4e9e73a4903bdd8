"""Jobs that start by a schedule."""

from datetime import timedelta

from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.workload_objects import cron_job, pod_quota

MINUTE = timedelta(minutes=1)


async def finish(cluster: StoryCluster) -> None:
    """Every pod that runs succeeds."""
    names = [
        pod["metadata"]["name"]
        for pod in await cluster.all("Pod")
        if pod["status"].get("phase") not in ("Succeeded", "Failed")
    ]
    await cluster.mark_finished(*names)
    await cluster.settle()


async def test_jobs_start_by_the_schedule_and_the_last_three_are_kept() -> None:
    async with a_cluster("cronjob", "job", "garbage-collector") as cluster:
        await cluster.create(cron_job())
        started: set[str] = set()
        for _ in range(5):
            await cluster.wait(10 * MINUTE)
            started |= set(await cluster.names("Job"))
            await finish(cluster)
        assert len(started) == 5
        assert await cluster.names("Job") == sorted(started)[-3:]
        status = (await cluster.get("CronJob", "nightly"))["status"]
        assert "active" not in status
        assert status["lastScheduleTime"] == "2024-01-01T00:50:00Z"
        assert status["lastSuccessfulTime"] >= status["lastScheduleTime"]


async def test_a_job_that_still_runs_holds_up_the_next_where_both_are_forbidden() -> None:
    async with a_cluster("cronjob", "job") as cluster:
        await cluster.create(cron_job(concurrencyPolicy="Forbid"))
        await cluster.wait(35 * MINUTE)
        (first,) = await cluster.names("Job")
        active = (await cluster.get("CronJob", "nightly"))["status"]["active"]
        assert [reference["name"] for reference in active] == [first]
        told = [reason for reason, _ in await cluster.events("nightly")]
        assert "JobAlreadyActive" in told
        await finish(cluster)
        assert len(await cluster.names("Job")) == 2


async def test_a_suspended_cron_job_starts_nothing_until_it_goes_on() -> None:
    async with a_cluster("cronjob", "job") as cluster:
        await cluster.create(cron_job(suspend=True))
        await cluster.wait(60 * MINUTE)
        assert await cluster.names("Job") == []
        await cluster.patch("CronJob", "nightly", {"spec": {"suspend": False}})
        await cluster.settle()
        assert len(await cluster.names("Job")) == 1


async def test_a_job_that_the_server_refuses_is_told_and_tried_again() -> None:
    async with a_cluster("cronjob") as cluster:
        quota = pod_quota(0)
        quota["spec"]["hard"] = {"count/jobs.batch": "0"}
        await cluster.create(quota, cron_job())
        await cluster.wait(12 * MINUTE)
        told = [reason for reason, _ in await cluster.events("nightly")]
        assert "FailedCreate" in told
        await cluster.delete("ResourceQuota", "pods")
        await cluster.wait(6 * MINUTE)
        assert len(await cluster.names("Job")) == 1


async def test_a_controller_cut_off_at_any_write_comes_to_the_same_end() -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await cluster.create(cron_job())
        await cluster.wait(11 * MINUTE)

    async def look(cluster: StoryCluster) -> object:
        status = (await cluster.get("CronJob", "nightly"))["status"]
        active = [reference["name"] for reference in status.get("active", ())]
        return await cluster.names("Job"), active, status.get("lastScheduleTime")

    scenario = CrashScenario(loops=("cronjob",), arrange=arrange, look=look)
    jobs, active, last = await assert_same_end(scenario)
    assert jobs == active
    assert last == "2024-01-01T00:10:00Z"
