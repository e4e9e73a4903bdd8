"""What is done about a volume, in every state that it can be found in."""

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.annotations import (
    BOUND_BY_CONTROLLER,
    EXTERNAL_DELETION,
    INTERNAL_DELETION,
    MIGRATED_TO,
    PROVISIONED_BY,
    VOLUME_PROTECTION,
    YES,
)
from plimsoll.decide.claims.operations import ReadClaim
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.volume import Confirmed, decide_volume
from tests.builders import DRIVER, a_claim, a_volume
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
CLAIM_KEY = ObjectKey("default", "data")


@pytest.mark.parametrize(
    "volume",
    [
        pytest.param(a_volume(), id="no-claim-asked-for-it"),
        pytest.param(a_volume(claim=CLAIM_KEY), id="kept-by-name"),
    ],
)
def test_a_volume_without_a_claim_is_available(volume: PersistentVolume) -> None:
    world = a_world(in_phase(volume, "Pending"))
    look_after(world, VOLUME, KEY)
    assert the_volume(world).status.phase == "Available"


def test_a_volume_whose_claim_names_it_is_bound() -> None:
    world = a_world(a_claim(volume="volume-1"), in_phase(a_volume(claim=a_claim()), "Available"))
    look_after(world, VOLUME, KEY)
    assert the_volume(world).status.phase == "Bound"


def test_a_claim_that_names_nothing_yet_is_woken() -> None:
    world = a_world(a_claim(), a_volume(claim=a_claim()))
    [decision] = look_after(world, VOLUME, KEY)
    assert decision.plan.wake == (CLAIM_KEY,)
    assert decision.plan.reason == BindingReason.BINDING_IS_INCOMPLETE
    assert world.writes == []


def test_a_volume_with_another_mode_than_its_claim_is_told_to_both() -> None:
    block = a_volume(claim=a_claim())
    world = a_world(a_claim(), block)
    world.documents[VOLUME, KEY]["spec"]["volumeMode"] = "Block"
    look_after(world, VOLUME, KEY)
    assert [(type_, why) for type_, why, _ in events(world)] == [("Warning", "VolumeMismatch")] * 2
    assert [event["object"] for event in world.events] == [
        "PersistentVolume/volume-1",
        "PersistentVolumeClaim/default/data",
    ]


def test_the_server_is_asked_before_a_volume_is_released() -> None:
    world = a_world(with_policy(a_volume(claim=a_claim()), "Retain"))
    first = decide_volume(the_volume(world), world)
    assert first.operation == ReadClaim(CLAIM_KEY)
    assert first.plan.writes == ()
    look_after(world, VOLUME, KEY)
    assert the_volume(world).status.phase == "Released"


def test_a_claim_that_the_watch_did_not_show_yet_keeps_its_volume() -> None:
    world = a_world(a_claim(volume="volume-1"), a_volume(claim=a_claim()))
    world.unseen = frozenset({CLAIM_KEY})
    look_after(world, VOLUME, KEY)
    assert the_volume(world).status.phase == "Bound"
    assert the_volume(world).spec.claim == CLAIM_KEY


def test_a_new_claim_of_the_same_name_does_not_inherit_the_volume() -> None:
    world = a_world(a_claim(volume="volume-1"), with_policy(a_volume(claim=a_claim()), "Retain"))
    world.documents[VOLUME, KEY]["spec"]["claimRef"]["uid"] = "former"
    look_after(world, VOLUME, KEY)
    assert the_volume(world).status.phase == "Released"


def test_a_released_volume_is_not_asked_about_again_and_again() -> None:
    world = a_world(in_phase(with_policy(a_volume(claim=a_claim()), "Retain"), "Released"))
    decision = decide_volume(the_volume(world), world)
    assert decision.operation is None
    assert decision.plan.reason == BindingReason.RETAINED


def test_what_the_server_said_counts_more_than_what_is_known() -> None:
    world = a_world(a_volume(claim=a_claim()))
    claim = a_claim(volume="volume-1")
    decision = decide_volume(the_volume(world), world, Confirmed(claim))
    assert decision.plan.reason == BindingReason.BOUND


def test_a_volume_that_we_bound_to_a_claim_with_another_volume_is_free_again() -> None:
    volume = annotated_volume(a_volume(claim=a_claim()), {BOUND_BY_CONTROLLER: YES})
    world = a_world(a_claim(volume="other"), volume)
    look_after(world, VOLUME, KEY)
    assert the_volume(world).spec.claim_ref is None
    assert the_volume(world).annotations == {}
    assert the_volume(world).status.phase == "Available"


def test_a_volume_that_a_user_bound_stays_kept_by_name() -> None:
    world = a_world(a_claim(volume="other"), a_volume(claim=a_claim()))
    look_after(world, VOLUME, KEY)
    reference = the_volume(world).spec.claim_ref
    assert reference is not None
    assert (reference.key, reference.uid) == (CLAIM_KEY, "")
    assert the_volume(world).status.phase == "Available"


def test_a_volume_made_for_a_claim_that_took_another_is_released_for_its_driver() -> None:
    volume = annotated_volume(a_volume(claim=a_claim()), {PROVISIONED_BY: DRIVER})
    world = a_world(a_claim(volume="other"), volume)
    look_after(world, VOLUME, KEY)
    assert the_volume(world).status.phase == "Released"
    assert the_volume(world).spec.claim == CLAIM_KEY


PLUGIN = Plugin({"provision": "ok", "delete": "ok", "recycle": "ok"}, name="host-path")


@pytest.mark.parametrize(
    ("provisioner", "policy", "before", "after"),
    [
        pytest.param(
            "kubernetes.io/aws-ebs",
            "Delete",
            (INTERNAL_DELETION, VOLUME_PROTECTION),
            (VOLUME_PROTECTION,),
            id="left-to-a-driver",
        ),
        pytest.param(
            "kubernetes.io/gone",
            "Delete",
            (EXTERNAL_DELETION,),
            (INTERNAL_DELETION,),
            id="a-plugin-that-is-no-driver",
        ),
        pytest.param("host-path", "Delete", (), (INTERNAL_DELETION,), id="one-of-ours"),
        pytest.param("host-path", "Retain", (INTERNAL_DELETION,), (), id="retained-instead"),
        pytest.param(
            DRIVER, "Delete", (EXTERNAL_DELETION,), (EXTERNAL_DELETION,), id="another-programs"
        ),
    ],
)
def test_finalizers_name_who_will_delete_the_volume(
    provisioner: str, policy: str, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    volume = annotated_volume(
        with_policy(a_volume(), policy), {PROVISIONED_BY: provisioner}, before
    )
    world = a_world(volume, plugin=PLUGIN)
    look_after(world, VOLUME, KEY)
    assert the_volume(world).metadata.finalizers == after


def test_a_volume_of_a_plugin_that_moved_to_a_driver_says_so() -> None:
    world = a_world(annotated_volume(a_volume(), {PROVISIONED_BY: "kubernetes.io/gce-pd"}))
    look_after(world, VOLUME, KEY)
    assert the_volume(world).annotations[MIGRATED_TO] == "pd.csi.storage.gke.io"


def test_a_volume_that_is_being_deleted_takes_no_finalizer_any_more() -> None:
    volume = annotated_volume(with_policy(a_volume(), "Delete"), {PROVISIONED_BY: "host-path"})
    world = a_world(volume, plugin=PLUGIN)
    world.documents[VOLUME, KEY]["metadata"]["deletionTimestamp"] = "2024-01-02T03:04:05Z"
    look_after(world, VOLUME, KEY)
    assert world.writes == []
