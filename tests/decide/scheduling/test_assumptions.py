from plimsoll.api.meta import ObjectKey
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.scheduling.assumptions import AssumingView, Assumptions
from tests.builders import a_claim, a_volume
from tests.decide.scheduling.builders import a_cluster, annotated, versioned

KEY = ObjectKey("", "volume-1")
OBSERVED = versioned(a_volume(), 7)
TAKEN = versioned(a_volume(claim=a_claim()), 7)
NEWER = versioned(a_volume(), 8)


def test_an_assumption_is_shown_as_long_as_nothing_newer_is_observed() -> None:
    volumes = Assumptions().volumes
    assert volumes.assume(TAKEN, OBSERVED) == ""
    assert volumes.shown(OBSERVED) is TAKEN
    assert volumes.shown(NEWER) is NEWER


def test_an_assumption_survives_a_resync_and_nothing_else() -> None:
    volumes = Assumptions().volumes
    volumes.assume(TAKEN, OBSERVED)
    volumes.observe(KEY, OBSERVED)
    assert volumes.by_key() == {KEY: TAKEN}
    volumes.observe(KEY, NEWER)
    assert not volumes.by_key()
    volumes.assume(TAKEN, OBSERVED)
    volumes.observe(KEY, None)
    assert len(volumes) == 0


def test_nothing_is_assumed_on_an_outdated_object() -> None:
    volumes = Assumptions().volumes
    complaint = '"volume-1" is out of sync (stored: 8, assume: 7)'
    assert volumes.assume(TAKEN, NEWER) == complaint
    assert volumes.assume(TAKEN, None) == 'persistentvolumes "volume-1" not found'
    assert not volumes.by_key()


def test_only_who_knows_the_version_can_take_an_assumption_back() -> None:
    volumes = Assumptions().volumes
    volumes.assume(TAKEN, OBSERVED)
    volumes.restore(NEWER)
    assert len(volumes) == 1
    volumes.restore(OBSERVED)
    assert len(volumes) == 0


def test_a_view_shows_what_is_assumed_and_passes_on_the_rest() -> None:
    claim = versioned(a_claim(), 3)
    assumptions = Assumptions()
    view = AssumingView(a_cluster(OBSERVED, claim), assumptions)
    selected_nodes = annotated(claim, {SELECTED_NODE: "node-1"})
    assumptions.volumes.assume(TAKEN, OBSERVED)
    assumptions.claims.assume(selected_nodes, claim)
    assert view.volume("volume-1") is TAKEN
    assert view.volumes_of_class("fast") == [TAKEN]
    assert view.claim(claim.key) is selected_nodes
    assert view.claim(ObjectKey("default", "other")) is None
    assert view.volume("other") is None
    assert view.observed.volume("volume-1") is OBSERVED
    assert view.storage_class("fast") is None
