from plimsoll.api.meta import ObjectKey
from plimsoll.decide.annotations import BOUND_BY_CONTROLLER, SELECTED_NODE
from plimsoll.decide.plan import Patch, ResourceName
from plimsoll.decide.scheduling.binding.bind_volumes import (
    AllBound,
    Choice,
    assume,
    forget,
    forget_unwritten,
    unwritten,
    written,
)
from plimsoll.decide.scheduling.reasons import Finding, Reason
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import DynamicProvision
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import (
    PodVolumes,
    StaticBinding,
)
from tests.builders import a_claim, a_pod, a_volume
from tests.decide.scheduling.builders import Believed, bound, versioned

OLD, NEW = versioned(a_claim("old"), 11), versioned(a_claim("new"), 12)
VOLUME = versioned(a_volume(), 7)
POD = a_pod(claims=["old", "new"])
VOLUMES = PodVolumes((StaticBinding(OLD, VOLUME),), (DynamicProvision(NEW),))
VOLUME_KEY = ObjectKey("", "volume-1")


def chosen(believed: Believed) -> Choice:
    choice = assume(POD, VOLUMES, "node-1", believed)
    assert isinstance(choice, Choice)
    return choice


def test_a_choice_is_written_volumes_first_on_the_versions_it_was_made_of() -> None:
    choice = chosen(Believed(OLD, NEW, VOLUME))
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "old",
        "uid": "uid-default-old",
        "resourceVersion": "11",
    }
    assert choice.writes == (
        Patch(
            resource=ResourceName("", "v1", "persistentvolumes"),
            key=VOLUME_KEY,
            patch={
                "spec": {"claimRef": reference},
                "metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}},
            },
            version="7",
        ),
        Patch(
            resource=ResourceName("", "v1", "persistentvolumeclaims"),
            key=NEW.key,
            patch={"metadata": {"annotations": {SELECTED_NODE: "node-1"}}},
            version="12",
        ),
    )


def test_a_choice_is_believed_at_once() -> None:
    believed = Believed(OLD, NEW, VOLUME)
    choice = chosen(believed)
    volume = believed.volumes.snapshot().get(VOLUME_KEY)
    claim = believed.claims.snapshot().get(NEW.key)
    assert volume is choice.static[0].volume
    assert volume is not None
    assert volume.spec.claim == OLD.key
    assert claim is not None
    assert claim.annotations == {SELECTED_NODE: "node-1"}
    forget(choice, believed)
    assert believed.volumes.snapshot().get(VOLUME_KEY) is VOLUME
    assert believed.claims.snapshot().get(NEW.key) is NEW


def test_a_volume_that_a_user_kept_for_the_claim_stays_marked_as_theirs() -> None:
    kept = versioned(a_volume(claim=OLD), 7)
    believed = Believed(OLD, NEW, kept)
    volumes = PodVolumes((StaticBinding(OLD, kept),), ())
    choice = assume(POD, volumes, "node-1", believed)
    assert isinstance(choice, Choice)
    assert choice.static[0].volume is kept
    assert not believed.volumes.assumed
    assert [write.patch for write in choice.writes] == [{}]


def test_nothing_is_assumed_if_a_claim_has_changed_meanwhile() -> None:
    believed = Believed(OLD, versioned(NEW, 13), VOLUME)
    finding = assume(POD, VOLUMES, "node-1", believed)
    assert isinstance(finding, Finding)
    assert finding.reason is Reason.CHANGED_MEANWHILE
    assert finding.sentence == '"default/new" is out of sync (stored: 13, assume: 12)'
    assert not believed.volumes.assumed
    assert not believed.claims.assumed


def test_nothing_is_assumed_if_a_volume_has_changed_meanwhile() -> None:
    believed = Believed(OLD, NEW, versioned(VOLUME, 8))
    finding = assume(POD, VOLUMES, "node-1", believed)
    assert isinstance(finding, Finding)
    assert not believed.volumes.assumed


def test_a_pod_whose_claims_were_bound_meanwhile_needs_nothing() -> None:
    believed = Believed(bound(OLD, "volume-1"), bound(NEW, "volume-2"))
    assert assume(POD, VOLUMES, "node-1", believed) == AllBound()


def test_what_was_written_stays_believed_when_a_later_write_fails() -> None:
    believed = Believed(OLD, NEW, VOLUME)
    choice = chosen(believed)
    returned = versioned(choice.static[0].volume, 20)
    choice = written(choice, [returned])
    forget_unwritten(choice, believed, made=1)
    assert list(believed.volumes.assumed) == [VOLUME_KEY]
    assert not believed.claims.assumed
    forget(choice, believed)
    assert list(believed.volumes.assumed) == [VOLUME_KEY]


def test_a_claim_that_was_written_stays_believed_until_the_watch_shows_it() -> None:
    believed = Believed(OLD, NEW, VOLUME)
    choice = chosen(believed)
    forget(unwritten(written(choice, [versioned(choice.provisions[0], 20)])), believed)
    assert list(believed.claims.assumed) == [NEW.key]
    assert not believed.volumes.assumed
    believed.claims.put(NEW.key, versioned(NEW, 21))
    assert not believed.claims.assumed


def test_a_claim_that_named_the_node_already_does_not_stay_believed() -> None:
    """The write has made no new version that the watch could show."""
    believed = Believed(OLD, NEW, VOLUME)
    choice = chosen(believed)
    forget(unwritten(written(choice, [choice.provisions[0]])), believed)
    assert not believed.claims.assumed


def test_when_the_first_write_fails_nothing_stays_believed() -> None:
    believed = Believed(OLD, NEW, VOLUME)
    forget_unwritten(chosen(believed), believed, made=0)
    assert not believed.volumes.assumed
    assert not believed.claims.assumed
