"""Which volume a claim takes, and what is said about the others."""

import msgspec
import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.match import (
    Mismatch,
    Search,
    find_first_match,
    find_match,
    find_objection,
    mismatches,
)
from tests.builders import ZONE, a_claim, a_volume


def test_a_suitable_volume_has_nothing_against_it() -> None:
    assert mismatches(Search.of(a_claim()), a_volume()) == frozenset()


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        pytest.param(a_volume(gib=9), {Mismatch.TOO_SMALL}, id="too-small"),
        pytest.param(a_volume(gib=10, class_name="slow"), {Mismatch.WRONG_CLASS}, id="class"),
        pytest.param(
            a_volume(gib=10, access_modes=["ReadOnlyMany"]),
            {Mismatch.WRONG_ACCESS_MODES},
            id="access-modes",
        ),
        pytest.param(
            a_volume(gib=10, claim=ObjectKey("default", "other")),
            {Mismatch.TAKEN, Mismatch.NOT_AVAILABLE},
            id="kept-for-another",
        ),
        pytest.param(
            a_volume(gib=10, claim=a_claim("data", namespace="elsewhere")),
            {Mismatch.TAKEN, Mismatch.NOT_AVAILABLE},
            id="same-name-in-another-namespace",
        ),
        pytest.param(
            a_volume(gib=1, class_name="slow", access_modes=[]),
            {Mismatch.TOO_SMALL, Mismatch.WRONG_CLASS, Mismatch.WRONG_ACCESS_MODES},
            id="everything-is-told-at-once",
        ),
    ],
)
def test_all_that_speaks_against_a_volume_is_told(
    volume: PersistentVolume, expected: set[Mismatch]
) -> None:
    assert mismatches(Search.of(a_claim(gib=10)), volume) == expected


def with_spec(volume: PersistentVolume, **changes: object) -> PersistentVolume:
    return msgspec.structs.replace(volume, spec=msgspec.structs.replace(volume.spec, **changes))


def test_a_missing_volume_mode_means_a_file_system() -> None:
    claim = a_claim()
    assert not mismatches(Search.of(claim), with_spec(a_volume(), volume_mode="Filesystem"))
    block = with_spec(a_volume(), volume_mode="Block")
    assert mismatches(Search.of(claim), block) == {Mismatch.WRONG_VOLUME_MODE}


def test_the_attributes_class_has_to_be_the_same() -> None:
    gold = with_spec(a_volume(), volume_attributes_class_name="gold")
    assert mismatches(Search.of(a_claim()), gold) == {Mismatch.WRONG_ATTRIBUTES_CLASS}


def test_a_volume_kept_for_the_claim_need_not_have_its_class_or_labels() -> None:
    claim = a_claim()
    kept = a_volume(class_name="other", claim=claim.key)
    assert not mismatches(Search.of(claim), kept)


def test_a_volume_kept_for_a_former_claim_of_the_name_is_taken() -> None:
    former = msgspec.structs.replace(
        a_claim(), metadata=msgspec.structs.replace(a_claim().metadata, uid="former")
    )
    assert Mismatch.TAKEN in mismatches(Search.of(a_claim()), a_volume(claim=former))


def test_only_the_scheduler_chooses_free_volumes_for_claims_that_wait_for_it() -> None:
    claim = a_claim()
    waiting = Search.of(claim, waits_for_scheduler=True)
    assert mismatches(waiting, a_volume()) == {Mismatch.LEFT_TO_SCHEDULER}
    assert not mismatches(waiting, a_volume(claim=claim))
    by_scheduler = Search.of(claim, waits_for_scheduler=True, node_labels={})
    assert not mismatches(by_scheduler, a_volume())


def test_a_volume_has_to_be_reachable_from_the_node() -> None:
    here = Search.of(a_claim(), node_labels={ZONE: "a"})
    assert not mismatches(here, a_volume(reachable_from={ZONE: "a"}))
    assert mismatches(here, a_volume(reachable_from={ZONE: "b"})) == {Mismatch.UNREACHABLE}


def found(search: Search, *volumes: PersistentVolume) -> str | None:
    volume = find_match(search, volumes)
    return volume.name if volume else None


@pytest.mark.parametrize(
    ("sizes", "taken"),
    [
        pytest.param({"small": 5, "exact": 10, "large": 50}, "exact", id="exact-fit-wins"),
        pytest.param({"larger": 80, "large": 50}, "large", id="least-waste-wins"),
        pytest.param({"b": 10, "a": 10}, "b", id="the-first-of-equal-ones-wins"),
        pytest.param({"small": 5}, None, id="nothing-is-large-enough"),
    ],
)
def test_claim_takes_the_volume_that_wastes_least(sizes: dict[str, int], taken: str | None) -> None:
    volumes = [a_volume(name, gib=gib) for name, gib in sizes.items()]
    assert found(Search.of(a_claim(gib=10)), *volumes) == taken


def test_a_volume_kept_for_the_claim_goes_before_a_smaller_one() -> None:
    claim = a_claim()
    assert found(Search.of(claim), a_volume("a"), a_volume("b", gib=9, claim=claim.key)) == "b"


def test_a_kept_volume_that_is_too_small_is_passed_over() -> None:
    claim = a_claim(gib=5)
    kept = a_volume("kept", gib=1, claim=claim.key)
    assert found(Search.of(claim), kept, a_volume("free", gib=5)) == "free"


def test_a_kept_volume_out_of_reach_leaves_no_choice() -> None:
    claim = a_claim()
    kept = a_volume("kept", claim=claim.key, reachable_from={ZONE: "b"})
    search = Search.of(claim, node_labels={ZONE: "a"})
    assert found(search, a_volume("free"), kept) is None


def test_volumes_of_other_claims_of_the_pod_are_left_alone() -> None:
    search = Search.of(a_claim(), node_labels={}, excluded={"a"})
    assert found(search, a_volume("a"), a_volume("b", gib=9)) == "b"


def test_sizes_are_compared_to_the_last_digit() -> None:
    exact = with_spec(a_volume("exact"), capacity={"storage": "1000m"})
    short = with_spec(a_volume("short"), capacity={"storage": "999m"})
    spec = msgspec.structs.replace(
        a_claim().spec,
        resources=msgspec.structs.replace(a_claim().spec.resources, requests={"storage": "1"}),
    )
    claim = msgspec.structs.replace(a_claim(), spec=spec)
    assert found(Search.of(claim), short, exact) == "exact"


def selecting(selector: LabelSelectorSpec) -> PersistentVolumeClaim:
    claim = a_claim()
    return msgspec.structs.replace(
        claim, spec=msgspec.structs.replace(claim.spec, selector=selector)
    )


def test_a_selector_chooses_by_labels() -> None:
    gold = msgspec.structs.replace(
        a_volume("gold"),
        metadata=msgspec.structs.replace(a_volume("gold").metadata, labels={"tier": "gold"}),
    )
    search = Search.of(selecting(LabelSelectorSpec(match_labels={"tier": "gold"})))
    assert find_first_match(search, [a_volume("plain"), gold]) == gold
    assert mismatches(search, a_volume("plain")) == {Mismatch.WRONG_LABELS}


def test_a_selector_that_cannot_be_read_is_an_error_that_names_the_claim() -> None:
    broken = LabelRequirementSpec(key="tier", operator="Like")
    with pytest.raises(ValueError, match='for claim: default/data: "Like" is not a valid'):
        Search.of(selecting(LabelSelectorSpec(match_expressions=(broken,))))


def test_a_claim_cannot_ask_for_attributes_where_there_are_no_classes_of_them() -> None:
    claim = a_claim()
    spec = msgspec.structs.replace(claim.spec, volume_attributes_class_name="gold")
    with pytest.raises(ValueError, match="VolumeAttributesClass is disabled"):
        Search.of(msgspec.structs.replace(claim, spec=spec), knows_attributes_classes=False)


@pytest.mark.parametrize(
    ("volume", "objection"),
    [
        (a_volume(gib=2), None),
        (a_volume(gib=1), "requested PV is too small"),
        (a_volume(gib=2, class_name="slow"), "storageClassName does not match"),
        (with_spec(a_volume(gib=2), volume_mode="Block"), "incompatible volumeMode"),
        (a_volume(gib=2, access_modes=["ReadOnlyMany"]), "incompatible accessMode"),
        (
            with_spec(a_volume(gib=2), volume_attributes_class_name="gold"),
            "volumeAttributesClassName does not match",
        ),
    ],
)
def test_a_volume_asked_for_by_name_is_refused_in_words(
    volume: PersistentVolume, objection: str | None
) -> None:
    assert find_objection(a_claim(gib=2), volume) == objection
