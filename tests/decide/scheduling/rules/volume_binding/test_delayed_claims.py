import msgspec

from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.decide.scheduling.binding.bind_volumes import naming_node
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.rules.volume_binding.delayed_claims import DelayedClaims
from tests.builders import a_claim, a_volume

VOLUMES = Columns().volumes


def test_free_claims_are_served_from_the_smallest_on_and_equal_ones_in_their_order() -> None:
    claims = [a_claim("a", gib=5), a_claim("b", gib=1), a_claim("c", gib=5)]

    delayed = DelayedClaims.of(claims, VOLUMES)

    assert [each.claim.name for each in delayed.free] == ["b", "a", "c"]
    assert delayed.has_rivals
    assert not DelayedClaims.of(claims[:1], VOLUMES).has_rivals


def test_a_claim_that_names_a_node_is_not_matched_with_volumes() -> None:
    delayed = DelayedClaims.of([naming_node(a_claim("a"), "n1"), a_claim("b")], VOLUMES)

    assert [each.claim.name for each in delayed.here] == ["a"]
    assert delayed.selected_nodes == {"n1"}
    assert delayed.here[0].want is None
    assert [each.claim.name for each in delayed.all] == ["a", "b"]


def test_a_volume_kept_for_a_claim_is_found_once() -> None:
    claim = a_claim("a")
    columns = Columns.of([a_volume("v", claim=claim.key), a_volume("free")])

    delayed = DelayedClaims.of([claim, claim], columns.volumes)

    assert [each.kept and each.kept.name for each in delayed.free] == ["v", None]
    assert delayed.has_kept


def test_a_claim_that_cannot_be_read_leaves_nothing_to_decide() -> None:
    nonsense = LabelRequirementSpec(key="tier", operator="Nonsense")
    claim = a_claim("a")
    spec = msgspec.structs.replace(
        claim.spec, selector=LabelSelectorSpec(match_expressions=(nonsense,))
    )

    delayed = DelayedClaims.of([msgspec.structs.replace(claim, spec=spec)], VOLUMES)

    assert not delayed.is_readable
