"""Pods get nodes, and the volumes that they need there."""

from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.processes.scheduler.configuration.form import PluginArguments, ProfileSettings
from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import pod
from plimsoll.simulator.stories.provisioners import HOST_PATH, binding, host_path
from plimsoll.simulator.stories.schedulers import (
    HOSTNAME,
    SELECTED_NODE,
    a_claim,
    a_delayed_class,
    a_local_volume,
    a_pod,
    a_scheduler,
    add_node,
    node_of,
    nodes_of,
    ours,
    scheduled_condition,
    volume_of,
)
from plimsoll.simulator.stories.workload_objects import stateful_set, template

LOOPS = ("binding", "statefulset")
THREE = ("node-a", "node-b", "node-c")
LATE = timedelta(minutes=12)


def a_set_of_three(*claims: str) -> Document:
    """A StatefulSet whose pods ask for local volumes and start all at once."""
    document = stateful_set(
        claims=claims, podManagementPolicy="Parallel", template=template(schedulerName="plimsoll")
    )
    for each in document["spec"]["volumeClaimTemplates"]:
        each["spec"]["storageClassName"] = "local"
    return document


async def add_nodes(cluster: StoryCluster, *names: str) -> None:
    for name in names:
        await add_node(cluster, name)


# The stories of the specification


async def test_a_stateful_set_of_three_gets_the_local_volumes_of_three_nodes() -> None:
    async with a_cluster(*LOOPS) as cluster, a_scheduler(cluster):
        await add_nodes(cluster, *THREE)
        await cluster.create(a_delayed_class(), *map(a_local_volume, THREE), a_set_of_three("data"))
        await cluster.settle()
        placed = await nodes_of(cluster)
        assert sorted(placed.values()) == list(THREE)
        for name, node in placed.items():
            assert await volume_of(cluster, f"data-{name}") == f"disk-{node}"


async def test_with_local_volumes_on_two_of_three_nodes_one_pod_waits() -> None:
    async with a_cluster(*LOOPS) as cluster, a_scheduler(cluster):
        await add_nodes(cluster, *THREE)
        disks = map(a_local_volume, THREE[:2])
        await cluster.create(a_delayed_class(), *disks, a_set_of_three("data"))
        await cluster.settle()
        placed = await nodes_of(cluster)
        assert sorted(placed.values()) == ["", "node-a", "node-b"]
        (waiting,) = [name for name, node in placed.items() if not node]
        status, reason, message = await scheduled_condition(cluster, waiting)
        assert (status, reason) == ("False", "Unschedulable")
        assert message == (
            "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind. "
            "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling. "
            "[NoMatchingVolume]"
        )
        await cluster.create(a_local_volume("node-c"))
        await cluster.settle()
        assert await node_of(cluster, waiting) == "node-c"


async def test_a_pod_with_several_claims_goes_where_all_of_them_find_volumes() -> None:
    async with a_cluster(*LOOPS) as cluster, a_scheduler(cluster):
        await add_nodes(cluster, *THREE)
        disks = [
            a_local_volume("node-a", "a-1"),
            a_local_volume("node-b", "b-1"),
            a_local_volume("node-b", "b-2"),
        ]
        claims = [a_claim("one"), a_claim("two")]
        await cluster.create(a_delayed_class(), *disks, *claims, a_pod(claims=("one", "two")))
        await cluster.settle()
        assert await node_of(cluster, "web") == "node-b"
        assert {await volume_of(cluster, name) for name in ("one", "two")} == {"b-1", "b-2"}


async def test_a_pod_with_more_claims_than_any_node_has_volumes_takes_none_of_them() -> None:
    async with a_cluster(*LOOPS) as cluster, a_scheduler(cluster):
        await add_nodes(cluster, *THREE)
        claims = [a_claim("one"), a_claim("two")]
        disks = map(a_local_volume, THREE)
        await cluster.create(a_delayed_class(), *disks, *claims, a_pod(claims=("one", "two")))
        await cluster.settle()
        assert await node_of(cluster, "web") == ""
        volumes = await cluster.all("PersistentVolume")
        assert not any("claimRef" in each["spec"] for each in volumes)


async def test_where_no_volume_is_left_one_is_provisioned(tmp_path: Path) -> None:
    async with a_cluster(more=binding(host_path(tmp_path))) as cluster, a_scheduler(cluster):
        await add_nodes(cluster, "node-a")
        await cluster.create(
            a_delayed_class("local", HOST_PATH),
            a_local_volume("node-a"),
            a_claim("first"),
            a_claim("second"),
        )
        await cluster.settle()
        await cluster.create(a_pod("one", claims=["first"]))
        await cluster.settle()
        await cluster.create(a_pod("two", claims=["second"]))
        await cluster.settle()
        assert await nodes_of(cluster) == {"one": "node-a", "two": "node-a"}
        assert await volume_of(cluster, "first") == "disk-node-a"
        assert (await volume_of(cluster, "second")).startswith("pvc-")
        made = await cluster.get("PersistentVolumeClaim", "second")
        assert made["metadata"]["annotations"][SELECTED_NODE] == "node-a"


# Assigning volumes


async def test_by_default_volumes_are_shared_out_so_that_every_claim_gets_one() -> None:
    """The smaller claim could have both volumes, the larger only one of them."""
    for policy, expected in ((Policy.COMPATIBLE, ""), (Policy.DEFAULT, "node-a")):
        async with (
            a_cluster("binding") as cluster,
            a_scheduler(cluster, SchedulerSettings(policy=policy)),
        ):
            await add_nodes(cluster, "node-a")
            picky = a_claim("picky", size="2Gi")
            picky["spec"]["selector"] = {"matchLabels": {"disk": "fast"}}
            fast = a_local_volume("node-a", "fast", size="2Gi")
            fast["metadata"]["labels"] = {"disk": "fast"}
            slow = a_local_volume("node-a", "slow", size="3Gi")
            claims = [a_claim("easy"), picky]
            await cluster.create(a_delayed_class(), fast, slow, *claims)
            await cluster.create(a_pod(claims=("easy", "picky")))
            await cluster.settle()
            assert await node_of(cluster, "web") == expected


# What pods ask of nodes


async def test_a_pod_goes_where_there_is_room_and_waits_where_there_is_none() -> None:
    async with a_cluster() as cluster, a_scheduler(cluster):
        await add_node(cluster, "small", cpu="1")
        await add_node(cluster, "large", cpu="4")
        await cluster.create(a_pod("one", requests={"cpu": "3"}))
        await cluster.settle()
        await cluster.create(a_pod("two", requests={"cpu": "3"}))
        await cluster.settle()
        assert await nodes_of(cluster) == {"one": "large", "two": ""}
        _, _, message = await scheduled_condition(cluster, "two")
        assert message == (
            "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
            "1 No preemption victims found for incoming pod, "
            "1 Preemption is not helpful for scheduling. [InsufficientResource]"
        )
        assert ("FailedScheduling", message) in await cluster.events("two")
        await cluster.delete("Pod", "one", grace=0)
        await cluster.settle()
        assert await node_of(cluster, "two") == "large"
        assert ("Scheduled", "Successfully assigned default/two to large") in (
            await cluster.events("two")
        )


async def test_selectors_taints_and_closed_nodes_are_honoured() -> None:
    async with a_cluster() as cluster, a_scheduler(cluster):
        taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
        await add_node(cluster, "tainted", labels={"disk": "ssd"}, spec={"taints": [taint]})
        await add_node(cluster, "closed", labels={"disk": "ssd"}, spec={"unschedulable": True})
        await add_node(cluster, "slow", labels={"disk": "hdd"})
        await cluster.create(a_pod("picky", nodeSelector={"disk": "ssd"}))
        await cluster.settle()
        _, _, message = await scheduled_condition(cluster, "picky")
        assert message == (
            "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
            "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. "
            "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling. "
            "[NodeAffinityMismatch, NodeUnschedulable, UntoleratedTaint]"
        )
        await cluster.patch("Node", "closed", {"spec": {"unschedulable": None}})
        await cluster.settle()
        assert await node_of(cluster, "picky") == "closed"
        tolerating = [{"key": "dedicated", "operator": "Exists"}]
        tolerant = a_pod("tolerant", nodeSelector={HOSTNAME: "tainted"}, tolerations=tolerating)
        await cluster.create(tolerant)
        await cluster.settle()
        assert await node_of(cluster, "tolerant") == "tainted"


async def test_a_gated_pod_waits_for_its_gates() -> None:
    async with a_cluster() as cluster, a_scheduler(cluster) as running:
        await add_nodes(cluster, "node-a")
        await cluster.create(a_pod(schedulingGates=[{"name": "example.com/ready"}]))
        await cluster.settle()
        assert await node_of(cluster, "web") == ""
        status, reason, _ = await scheduled_condition(cluster, "web")
        assert (status, reason) == ("False", "SchedulingGated")
        assert running.sample('scheduler_pending_pods{queue="gated"}') == 1
        await cluster.patch("Pod", "web", {"spec": {"schedulingGates": None}})
        await cluster.settle()
        assert await node_of(cluster, "web") == "node-a"


async def test_the_important_pod_goes_first() -> None:
    async with a_cluster() as cluster:
        await add_node(cluster, "node-a", cpu="1")
        urgent = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "urgent"},
            "value": 1000,
        }
        await cluster.create(urgent, a_pod("usual", requests={"cpu": "1"}))
        await cluster.create(a_pod("first", requests={"cpu": "1"}, priorityClassName="urgent"))
        async with a_scheduler(cluster):
            await cluster.settle()
            assert await nodes_of(cluster) == {"first": "node-a", "usual": ""}


async def test_pods_of_other_schedulers_take_room_and_are_left_alone() -> None:
    async with a_cluster() as cluster, a_scheduler(cluster):
        await add_node(cluster, "node-a", cpu="1")
        theirs = ours(pod("theirs"), requests={"cpu": "1"}, schedulerName="default-scheduler")
        await cluster.create(theirs)
        await cluster.settle()
        assert await node_of(cluster, "theirs") == ""
        assert await scheduled_condition(cluster, "theirs") == ("", "", "")
        await cluster.bind("theirs", "node-a")
        await cluster.create(a_pod("ours", requests={"cpu": "1"}))
        await cluster.settle()
        assert await node_of(cluster, "ours") == ""


async def test_a_scheduler_called_default_takes_all_pods_that_name_no_other() -> None:
    settings = SchedulerSettings(scheduler_name="default-scheduler", policy=Policy.COMPATIBLE)
    async with a_cluster() as cluster, a_scheduler(cluster, settings):
        await add_nodes(cluster, "node-a")
        await cluster.create(pod("web"))
        await cluster.settle()
        assert await node_of(cluster, "web") == "node-a"


async def test_one_scheduler_judges_pods_by_the_profile_that_they_name() -> None:
    strategy = {"scoringStrategy": {"type": "MostAllocated"}}
    packing = ProfileSettings(
        scheduler_name="packing",
        plugin_config=(PluginArguments(name="NodeResourcesFit", args=strategy),),
    )
    profiles = (ProfileSettings(scheduler_name="spreading"), packing)
    settings = SchedulerSettings(scheduler_name="spreading", profiles=profiles)
    async with a_cluster() as cluster, a_scheduler(cluster, settings) as running:
        await add_node(cluster, "node-a", cpu="8")
        await cluster.create(ours(pod("old"), schedulerName="spreading", requests={"cpu": "4"}))
        await cluster.settle()
        await add_node(cluster, "node-b", cpu="8")
        for name in ("spreading", "packing", "nobody"):
            wanted = ours(pod(name), schedulerName=name, requests={"cpu": "1"})
            await cluster.create(wanted)
        await cluster.settle()
        assert await node_of(cluster, "spreading") == "node-b"
        assert await node_of(cluster, "packing") == "node-a"
        assert await node_of(cluster, "nobody") == ""
        attempts = "scheduler_schedule_attempts_total"
        assert running.sample(f'{attempts}{{profile="packing",result="scheduled"') == 1


async def test_without_nodes_pods_are_told_so() -> None:
    async with a_cluster() as cluster, a_scheduler(cluster):
        await cluster.create(a_pod())
        await cluster.settle()
        _, _, message = await scheduled_condition(cluster, "web")
        assert message == "no nodes available to schedule pods"
        await add_nodes(cluster, "node-a")
        await cluster.settle()
        assert await node_of(cluster, "web") == "node-a"


# Waiting for volumes


def a_claim_without_a_provisioner(name: str) -> Document:
    """One that an external provisioner would have to serve, which does not run."""
    return a_claim(name, class_name="external")


async def test_a_pod_that_waits_for_its_volume_does_not_hold_up_others() -> None:
    async with a_cluster("binding") as cluster, a_scheduler(cluster):
        await add_nodes(cluster, "node-a")
        await cluster.create(a_delayed_class("external", "disk.example.com"))
        await cluster.create(a_claim_without_a_provisioner("data"), a_pod("slow", claims=["data"]))
        await cluster.settle()
        claim = await cluster.get("PersistentVolumeClaim", "data")
        assert claim["metadata"]["annotations"][SELECTED_NODE] == "node-a"
        await cluster.create(a_pod("quick"))
        await cluster.settle()
        assert await nodes_of(cluster) == {"quick": "node-a", "slow": ""}


async def test_a_pod_gives_up_waiting_after_the_time_allowed_and_tries_again() -> None:
    settings = SchedulerSettings(bind_timeout=timedelta(seconds=30))
    async with a_cluster("binding") as cluster, a_scheduler(cluster, settings) as running:
        await add_nodes(cluster, "node-a")
        await cluster.create(a_delayed_class("external", "disk.example.com"))
        await cluster.create(a_claim_without_a_provisioner("data"), a_pod("slow", claims=["data"]))
        await cluster.wait(timedelta(seconds=33))
        status, reason, message = await scheduled_condition(cluster, "slow")
        assert (status, reason) == ("False", "SchedulerError")
        assert message == "binding volumes: context deadline exceeded [BindingTimedOut]"
        assert running.sample("scheduler_volume_scheduling_stage_error_total{") == 1
        await cluster.create(volume_for("data", await uid_of(cluster, "data")))
        await cluster.settle(timedelta(minutes=1))
        assert await node_of(cluster, "slow") == "node-a"


async def uid_of(cluster: StoryCluster, claim: str) -> str:
    uid: str = (await cluster.get("PersistentVolumeClaim", claim))["metadata"]["uid"]
    return uid


def volume_for(claim: str, uid: str, node: str = "node-a") -> Document:
    """What a provisioner makes."""
    made = a_local_volume(node, f"pvc-{uid}")
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": claim,
        "uid": uid,
    }
    made["spec"] |= {"claimRef": reference, "storageClassName": "external"}
    return made


async def test_a_claim_whose_node_was_taken_off_and_closed_gets_the_other_node() -> None:
    """The closed node would be avoided anyway; `test_refused_nodes` tells of those that are not."""
    async with a_cluster("binding") as cluster, a_scheduler(cluster):
        await add_nodes(cluster, "node-a", "node-b")
        await cluster.create(a_delayed_class("external", "disk.example.com"))
        await cluster.create(a_claim_without_a_provisioner("data"), a_pod(claims=["data"]))
        await cluster.settle()
        claim = await cluster.get("PersistentVolumeClaim", "data")
        first = claim["metadata"]["annotations"][SELECTED_NODE]
        await cluster.patch("Node", first, {"spec": {"unschedulable": True}})
        refusal = {"metadata": {"annotations": {SELECTED_NODE: None}}}
        await cluster.patch("PersistentVolumeClaim", "data", refusal)
        await cluster.settle(timedelta(seconds=10))
        claim = await cluster.get("PersistentVolumeClaim", "data")
        assert {first, claim["metadata"]["annotations"][SELECTED_NODE]} == {"node-a", "node-b"}
        told = [message for reason, message in await cluster.events("web")]
        assert (
            'binding volumes: provisioning failed for PVC "data": '
            f"disk.example.com refused node {first} [ProvisionerRefused]"
        ) in told


async def test_pods_that_share_a_claim_follow_it_without_complaint(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each writes the node on the claim; all but one of them come too late."""
    pods = [f"web-{number}" for number in range(8)]
    async with a_cluster("binding") as cluster, a_scheduler(cluster):
        await add_nodes(cluster, *THREE)
        await cluster.create(a_delayed_class("external", "disk.example.com"))
        await cluster.create(a_claim_without_a_provisioner("data"))
        await cluster.create(*(a_pod(name, claims=["data"]) for name in pods))
        await cluster.settle(timedelta(seconds=5))
        claim = await cluster.get("PersistentVolumeClaim", "data")
        node = claim["metadata"]["annotations"][SELECTED_NODE]
        await cluster.create(volume_for("data", claim["metadata"]["uid"], node))
        await cluster.wait(timedelta(minutes=1))
        assert await nodes_of(cluster) == dict.fromkeys(pods, node)
        for name in pods:
            assert [reason for reason, _ in await cluster.events(name)] == ["Scheduled"]
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == []


async def test_a_pod_deleted_while_it_waits_gives_its_room_to_others() -> None:
    async with a_cluster("binding") as cluster, a_scheduler(cluster):
        await add_node(cluster, "node-a", cpu="1")
        await cluster.create(a_delayed_class("external", "disk.example.com"))
        slow = a_pod("slow", claims=["data"], requests={"cpu": "1"})
        await cluster.create(a_claim_without_a_provisioner("data"), slow)
        await cluster.settle()
        await cluster.create(a_pod("next", requests={"cpu": "1"}))
        await cluster.settle()
        assert await node_of(cluster, "next") == ""
        await cluster.delete("Pod", "slow", grace=0)
        await cluster.settle()
        assert await node_of(cluster, "next") == "node-a"


# Being started again


@pytest.mark.parametrize("cut_after", range(1, 9))
async def test_a_scheduler_that_dies_in_the_middle_of_a_binding_is_continued(
    cut_after: int,
) -> None:
    """Two claims, one with a disk, one to be provisioned by another program."""
    async with a_cluster("binding") as cluster:
        await add_nodes(cluster, *THREE)
        await cluster.create(a_delayed_class(), a_delayed_class("external", "disk.example.com"))
        await cluster.create(
            a_local_volume("node-b"), a_claim("one"), a_claim_without_a_provisioner("two")
        )
        await cluster.create(a_pod(claims=("one", "two")))
        first = a_scheduler(cluster, cut_after=cut_after)
        async with first:
            await cluster.settle()
        async with a_scheduler(cluster, seed=2):
            await cluster.settle()
            await cluster.create(volume_for("two", await uid_of(cluster, "two"), "node-b"))
            await cluster.settle(timedelta(minutes=1))
            assert await node_of(cluster, "web") == "node-b"
            assert await volume_of(cluster, "one") == "disk-node-b"
            assert await volume_of(cluster, "two")


async def test_no_volume_is_promised_twice_while_pods_come_in_bursts() -> None:
    async with a_cluster("binding") as cluster, a_scheduler(cluster) as running:
        names = [f"node-{number:02}" for number in range(20)]
        await add_nodes(cluster, *names)
        await cluster.create(a_delayed_class(), *map(a_local_volume, names))
        for number in range(25):
            await cluster.create(a_claim(f"c{number:02}"))
            await cluster.create(a_pod(f"p{number:02}", claims=[f"c{number:02}"]))
        await cluster.settle(timedelta(seconds=30))
        placed = [node for node in (await nodes_of(cluster)).values() if node]
        assert sorted(placed) == names
        assert (
            running.sample(
                'scheduler_schedule_attempts_total{profile="plimsoll",result="scheduled"}'
            )
            == 20
        )
        assert running.sample('scheduler_pending_pods{queue="unschedulable"}') == 5


def unschedulable(code: str) -> str:
    return f'plimsoll_scheduler_unschedulable_pods{{code="{code}"}}'


async def test_pods_that_wait_are_counted_by_code_until_they_have_their_node() -> None:
    async with a_cluster("binding") as cluster, a_scheduler(cluster) as running:
        await add_nodes(cluster, "node-a")
        await cluster.create(a_delayed_class(), a_claim(), a_pod(claims=["data"]))
        await cluster.create(a_pod("large", requests={"cpu": "100"}))
        await cluster.settle()
        assert running.sample(unschedulable("NoMatchingVolume")) == 1
        assert running.sample(unschedulable("InsufficientResource")) == 1
        await cluster.create(a_local_volume("node-a"))
        await cluster.delete("Pod", "large")
        await cluster.settle(timedelta(seconds=30))
        assert running.sample(unschedulable("NoMatchingVolume")) == 0
        assert running.sample(unschedulable("InsufficientResource")) == 0
        attempts = "plimsoll_scheduler_attempts_total"
        assert running.sample(f'{attempts}{{result="scheduled"}}') == 1
        assert running.sample(f'{attempts}{{result="unschedulable"}}') >= 2


@pytest.mark.parametrize(
    ("spec", "outcome"),
    [
        pytest.param({"storageCapacity": True}, "consulted", id="tracked"),
        pytest.param({"storageCapacity": False}, "not-tracked", id="not-tracked"),
        pytest.param(None, "unknown-driver", id="no-object"),
    ],
)
async def test_whether_capacity_was_consulted_is_counted(
    spec: Document | None, outcome: str
) -> None:
    async with a_cluster() as cluster, a_scheduler(cluster) as running:
        await add_nodes(cluster, "node-a")
        if spec is not None:
            driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "spec": spec}
            await cluster.create(driver | {"metadata": {"name": "disk.example.com"}})
        await cluster.create(
            a_delayed_class("fast", "disk.example.com"), a_claim(class_name="fast")
        )
        await cluster.create(a_pod(claims=["data"]))
        await cluster.settle()
        checks = "plimsoll_scheduler_capacity_checks_total{"
        assert running.sample(f'{checks}outcome="{outcome}"}}') == 1
        assert running.sample(checks) == 1


async def test_what_does_not_help_a_pod_does_not_wake_it() -> None:
    async with a_cluster("binding") as cluster, a_scheduler(cluster) as running:
        await add_nodes(cluster, "node-a")
        await cluster.create(a_delayed_class(), a_claim(), a_pod(claims=["data"]))
        await cluster.settle()
        attempts = running.sample("scheduler_schedule_attempts_total{")
        other = a_local_volume("node-a", "other")
        other["spec"]["storageClassName"] = "elsewhere"
        await cluster.create(other, a_pod("another"), a_claim("unrelated"))
        await cluster.patch("Node", "node-a", {"metadata": {"annotations": {"beat": "1"}}})
        await cluster.settle(timedelta(minutes=1))
        assert running.sample("scheduler_schedule_attempts_total{") == attempts + 1
        await cluster.wait(timedelta(minutes=5))
        assert running.sample("scheduler_schedule_attempts_total{") == attempts + 2


async def test_a_pod_that_is_woken_again_and_again_is_told_the_same_once() -> None:
    """An object may cause so many events and no more: what is repeated would push out the news."""
    async with a_cluster("binding") as cluster, a_scheduler(cluster) as running:
        await add_nodes(cluster, "node-a")
        await cluster.create(a_delayed_class(), a_claim(), a_pod(claims=["data"]))
        await cluster.settle()
        for number in range(40):
            small = a_local_volume("node-a", f"small-{number}")
            small["spec"]["capacity"]["storage"] = "1Mi"
            await cluster.create(small)
            await cluster.settle()
        assert running.sample("scheduler_schedule_attempts_total{") > 40
        await cluster.create(a_local_volume("node-a"))
        await cluster.settle()
        assert await node_of(cluster, "web") == "node-a"
        told = [reason for reason, _ in await cluster.events("web")]
        assert told == ["FailedScheduling", "Scheduled"]
