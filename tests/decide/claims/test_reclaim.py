"""What becomes of volumes whose claim is gone."""

import msgspec
import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.annotations import INTERNAL_DELETION, MIGRATED_TO, PROVISIONED_BY
from plimsoll.decide.claims.operations import DeleteBacking, Failed, Finished, InUse, Recycle
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.reclaim import (
    after_delete,
    after_recycle,
    decide_reclaim,
    has_ended,
    is_released,
)
from plimsoll.decide.plan import Delete, Patch
from tests.builders import DRIVER, a_claim, a_pod, a_volume
from tests.decide.claims.builders import (
    a_world,
    annotated_volume,
    events,
    in_phase,
    the_volume,
    with_policy,
)
from tests.decide.claims.world import VOLUME, Plugin, look_after

KEY = ObjectKey("", "volume-1")
RELEASED = in_phase(with_policy(a_volume(claim=a_claim()), "Delete"), "Released")


def plugin(**outcomes: str) -> Plugin:
    return Plugin({"provision": "ok", "delete": "ok", "recycle": "ok"} | outcomes)


@pytest.mark.parametrize(
    ("volume", "reason"),
    [
        pytest.param(with_policy(RELEASED, "Retain"), BindingReason.RETAINED, id="retained"),
        pytest.param(
            annotated_volume(RELEASED, {MIGRATED_TO: "ebs.csi.aws.com"}),
            BindingReason.LEFT_TO_DRIVER,
            id="migrated",
        ),
        pytest.param(
            annotated_volume(RELEASED, {PROVISIONED_BY: DRIVER}),
            BindingReason.LEFT_TO_DRIVER,
            id="provisioned-by-a-driver",
        ),
        pytest.param(a_volume(claim=a_claim()), BindingReason.LEFT_TO_DRIVER, id="csi-volume"),
    ],
)
def test_some_volumes_are_none_of_our_business(
    volume: PersistentVolume, reason: BindingReason
) -> None:
    decision = decide_reclaim(volume, a_world())
    assert (decision.plan.reason, decision.plan.writes) == (reason, ())
    assert decision.operation is None


def test_a_volume_of_a_provisioner_inside_is_deleted_with_what_is_behind_it() -> None:
    ours = plugin()
    made = annotated_volume(RELEASED, {PROVISIONED_BY: ours.name}, (INTERNAL_DELETION,))
    world = a_world(made, plugin=ours)
    decision = decide_reclaim(the_volume(world), world)
    assert decision.operation == DeleteBacking(volume=the_volume(world), provisioner=ours.name)
    look_after(world, VOLUME, KEY)
    assert world.writes == [
        "update persistentvolumes volume-1",
        "delete persistentvolumes volume-1",
    ]


def test_the_finalizer_goes_before_the_volume_and_only_ours() -> None:
    volume = annotated_volume(RELEASED, {}, (INTERNAL_DELETION, "other"))
    plan = after_delete(volume, Finished())
    match plan.writes:
        case (Patch(patch=patch), Delete(uid=uid)):
            assert patch == {"metadata": {"finalizers": ["other"]}}
            assert uid == volume.uid
        case other:
            pytest.fail(str(other))


def test_a_volume_still_in_use_is_no_failure() -> None:
    [event] = after_delete(RELEASED, InUse("attached to node-1")).writes
    assert (event.type, event.reason, event.message) == (  # type: ignore[union-attr]  # an event
        "Normal",
        "VolumeDelete",
        "attached to node-1",
    )


def test_a_failed_deletion_is_told_once_and_tried_again() -> None:
    world = a_world(RELEASED, plugin=plugin(delete="error"))
    look_after(world, VOLUME, KEY)
    look_after(world, VOLUME, KEY)
    assert the_volume(world).status.phase == "Failed"
    assert the_volume(world).status.message == "simulated delete failure"
    assert events(world) == [("Warning", "VolumeFailedDelete", "simulated delete failure")]
    assert decide_reclaim(the_volume(world), world).operation is not None


def test_a_volume_that_no_provisioner_can_delete_has_failed() -> None:
    world = a_world(RELEASED)
    look_after(world, VOLUME, KEY)
    message = 'error getting deleter volume plugin for volume "volume-1": no volume plugin matched'
    assert events(world) == [("Warning", "VolumeFailedDelete", message)]


def test_an_unknown_policy_is_told() -> None:
    world = a_world(with_policy(RELEASED, "Burn"))
    look_after(world, VOLUME, KEY)
    assert [why for _, why, _ in events(world)] == ["VolumeUnknownReclaimPolicy"]
    assert the_volume(world).status.phase == "Failed"


def test_a_recycled_volume_is_free_for_the_next_claim() -> None:
    world = a_world(with_policy(RELEASED, "Recycle"), plugin=plugin())
    decision = decide_reclaim(the_volume(world), world)
    assert isinstance(decision.operation, Recycle)
    look_after(world, VOLUME, KEY)
    assert events(world) == [("Normal", "VolumeRecycled", "Volume recycled")]
    assert the_volume(world).status.phase == "Available"


def test_what_was_recycled_is_freed_only_once() -> None:
    released = with_policy(RELEASED, "Recycle")
    free = with_policy(a_volume(), "Recycle")
    taken = with_policy(a_volume(claim=a_claim("next")), "Recycle")
    assert after_recycle(free, Finished(), released).writes == ()
    assert after_recycle(taken, Finished(), released).writes == ()
    assert after_recycle(taken, Failed("no room"), released).writes == ()


def test_a_failed_recycling_says_why() -> None:
    volume = with_policy(RELEASED, "Recycle")
    plan = after_recycle(volume, Failed("no room"), volume)
    assert [getattr(write, "message", "") for write in plan.writes] == [
        "",
        "Recycle failed: no room",
    ]


def test_nothing_is_recycled_under_the_feet_of_a_pod() -> None:
    pod = a_pod("web-0", claims=["data"], node="node-1")
    world = a_world(with_policy(RELEASED, "Recycle"), pod, plugin=plugin())
    look_after(world, VOLUME, KEY)
    message = "Volume is used by pods: default/web-0"
    assert events(world) == [("Normal", "VolumeFailedRecycle", message)]
    assert world.writes == []


def test_a_pod_of_a_new_claim_of_that_name_does_not_use_the_old_volume() -> None:
    newer = msgspec.structs.replace(
        a_claim(volume="other"),
        metadata=msgspec.structs.replace(a_claim().metadata, uid="newer"),
    )
    pod = a_pod("web-0", claims=["data"], node="node-1")
    world = a_world(with_policy(RELEASED, "Recycle"), newer, pod, plugin=plugin())
    look_after(world, VOLUME, KEY)
    assert [why for _, why, _ in events(world)] == ["VolumeRecycled"]


def test_who_cannot_recycle_says_so() -> None:
    world = a_world(with_policy(RELEASED, "Recycle"))
    look_after(world, VOLUME, KEY)
    message = "No recycler plugin found for the volume!"
    assert events(world) == [("Warning", "VolumeFailedRecycle", message)]


def test_whether_a_volume_is_released_is_seen_from_its_claim() -> None:
    volume = a_volume(claim=a_claim())
    assert is_released(volume, None)
    assert is_released(volume, a_claim(volume="other"))
    assert is_released(volume, a_claim("other"))
    assert not is_released(volume, a_claim(volume="volume-1"))
    assert not is_released(volume, a_claim())
    assert not is_released(a_volume(), None)
    assert not is_released(a_volume(claim=a_claim().key), None)


def test_a_pod_has_ended_when_it_is_finished() -> None:
    pod = a_pod()
    assert not has_ended(pod)
    finished = msgspec.structs.replace(pod.status, phase="Succeeded")
    assert has_ended(msgspec.structs.replace(pod, status=finished))
