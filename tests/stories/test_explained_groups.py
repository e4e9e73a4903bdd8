"""`plimsoll explain` tells what scheduler and provisioners do for a pod with several claims."""

from datetime import timedelta
from random import Random

from msgspec.structs import replace

from plimsoll.api.registry import Document
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.decide.provisioning.intents import (
    IntentState,
    StoredIntent,
    lease_document,
    read_intent,
)
from plimsoll.decide.scheduling.policy import Announcement, identity_document
from plimsoll.processes.driver.backends.pools.faults import FaultyCall, Hang, When
from plimsoll.processes.scheduler.settings import trusted_namespaces
from plimsoll.simulator.stories.objects import namespace
from plimsoll.simulator.stories.schedulers import a_pod, node_of
from plimsoll.simulator.stories.sidecars import DRIVER
from plimsoll.ui.explain.explainer import ExplainAnswer, explain_reference
from plimsoll.ui.explain.reference import parse_reference
from plimsoll.wire.kube import KubeClient
from tests.stories.test_groups import ENOUGH, FREE, OTHER, SETTINGS, Scene, a_scene, two_claims
from tests.ui.explain.test_reading import ForbiddingTransport

A_MOMENT = timedelta(milliseconds=100)


async def explain(scene: Scene, what: str, *forbidden: str) -> ExplainAnswer:
    cluster = scene.cluster
    transport = ForbiddingTransport(InProcessTransport(cluster.server), *forbidden)
    client = KubeClient(transport, clock=cluster.clock, chance=Random(1))
    return await explain_reference(client, parse_reference(what, "").in_namespace("default"))


async def schedule(scene: Scene) -> None:
    """With what the process tells of itself."""
    await scene.schedule()
    now = scene.cluster.clock.now()
    told = Announcement(
        scheduler_name=SETTINGS.scheduler_name,
        policy=SETTINGS.policy,
        holder="one",
        began_at=now,
        now=now,
        record_namespaces=trusted_namespaces(SETTINGS),
    )
    await scene.cluster.create(identity_document(told, SETTINGS.leader_elect_namespace))


async def story_in(scene: Scene, state: str) -> ExplainAnswer:
    """What is told as soon as the group is in this state."""
    while True:
        answer = await explain(scene, "pod/web")
        if (answer.document["heldBack"] or {}).get("state") == state:
            return answer
        assert not await node_of(scene.cluster, "web"), f"the group was never {state}"
        await scene.cluster.wait(A_MOMENT)


async def test_the_story_of_a_refused_claim_is_told_from_its_beginning_to_its_end() -> None:
    async with a_scene() as scene:
        await schedule(scene)
        await two_claims(scene)
        undone = await story_in(scene, "Undone")
        scene.storages[DRIVER].set_faults(Hang(call=FaultyCall.CREATE, when=When.BEFORE))
        again = await story_in(scene, "Preparing")
        scene.storages[DRIVER].set_faults()
        await scene.cluster.wait(ENOUGH)
        assert await node_of(scene.cluster, "web") == "node-b"
    ended: Document = undone.document["heldBack"]["ended"]
    assert (ended["attempt"], ended["node"], ended["claim"]) == (0, "node-a", "second")
    assert "ResourceExhausted" in ended["message"]
    assert undone.document["heldBack"]["givenBack"] == ["first"]
    assert undone.document["node"] == "node-b", "what is tried next"
    assert "Attempt 0 on node node-a was ended by claim second" in undone.text
    assert "Given back so far: what was made for first." in undone.text
    assert "it prefers other nodes than node-a." in undone.text
    story: Document = again.document["heldBack"]
    assert (story["attempt"], story["node"], story["ended"]) == (1, "node-b", ended)
    assert story["givenBack"] == ["first"]


async def test_a_volume_that_is_held_back_is_told_with_what_it_waits_for() -> None:
    async with a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(Hang(call=FaultyCall.CREATE, when=When.BEFORE))
        await schedule(scene)
        await two_claims(scene)
        await scene.cluster.wait(timedelta(seconds=20))
        pod, claim = await explain(scene, "pod/web"), await explain(scene, "pvc/first")
        await scene.cluster.create(a_pod("second", claims=("first",)))
        other = await explain(scene, "pod/second")
        unread = await explain(scene, "pvc/first", "leases")
    story: Document = pod.document["heldBack"]
    assert (story["state"], story["node"], story["attempt"]) == ("Preparing", "node-a", 0)
    held = {each["name"]: (each["isHeld"], each["state"]) for each in story["claims"]}
    assert held == {"first": (True, "Made"), "second": (True, "Calling")}
    assert "waits for the volumes of second until" in pod.text
    assert claim.document["message"] == (
        "Held for pod default/web on node node-a (attempt 0): its volume is made, and recorded "
        "once those of second are made."
    )
    assert claim.document["heldBack"]["pod"]["name"] == "web"
    assert other.document["cause"]["code"] == "SelectedElsewhere"
    assert "is held for pod default/web on node node-a" in other.document["cause"]["message"]
    assert unread.document["heldBack"] is None
    assert unread.margin.remarks == ("leases may not be listed: nothing is concluded from them",)


async def test_a_pod_that_has_its_node_and_its_volumes_has_no_story() -> None:
    async with a_scene() as scene:
        await schedule(scene)
        await two_claims(scene)
        await scene.cluster.wait(ENOUGH)
        answer = await explain(scene, "pod/web")
    assert answer.document["heldBack"] is None


async def test_a_record_that_a_tenant_has_written_is_not_told() -> None:
    """In a namespace of their own they may write leases, also about claims of others, and a lease
    that looks like that of a scheduler."""
    async with a_scene(second=(FREE, FREE)) as scene:
        scene.storages[OTHER].set_faults(Hang(call=FaultyCall.CREATE, when=When.BEFORE))
        await schedule(scene)
        await two_claims(scene)
        await scene.cluster.wait(timedelta(seconds=20))
        honest = await explain(scene, "pod/web")
        await forge(scene)
        deceived = await explain(scene, "pod/web")
    assert deceived.document["heldBack"]["claims"] == honest.document["heldBack"]["claims"]
    assert honest.margin.remarks == ()
    [remark] = deceived.margin.remarks
    assert remark.startswith("records in tenant are not believed")


async def forge(scene: Scene) -> None:
    await scene.cluster.create(namespace("tenant"))
    for lease in await scene.cluster.all("Lease"):
        intent = read_intent(lease)
        labels = lease["metadata"].get("labels") or {}
        if intent is not None:
            number = intent.number + 1
            refused = replace(intent, number=number, state=IntentState.REFUSED, refusal="a lie")
            await scene.cluster.create(lease_document(StoredIntent(intent=refused), "tenant"))
        elif labels.get("plimsoll.dev/lease") == "scheduler":
            annotations = lease["metadata"]["annotations"]
            metadata = {"name": lease["metadata"]["name"], "namespace": "tenant", "labels": labels}
            believed = annotations | {"plimsoll.dev/record-namespaces": "tenant"}
            await scene.cluster.create(
                {
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": metadata | {"annotations": believed},
                    "spec": lease["spec"],
                }
            )
