import msgspec

from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.decide.scheduling.binding.bind_volumes import naming_node
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.rules.volume_binding.delayed_claims import LateClaims
from tests.builders import a_claim, a_volume

VOLUMES = Columns().volumes


def test_free_claims_are_served_from_the_smallest_on_and_equal_ones_in_their_order() -> None:
    claims = [a_claim("a", gib=5), a_claim("b", gib=1), a_claim("c", gib=5)]

    late = LateClaims.of(claims, VOLUMES)

    assert [each.claim.name for each in late.free] == ["b", "a", "c"]
    assert late.has_rivals
    assert not LateClaims.of(claims[:1], VOLUMES).has_rivals


def test_a_claim_that_names_a_node_is_not_matched_with_volumes() -> None:
    late = LateClaims.of([naming_node(a_claim("a"), "n1"), a_claim("b")], VOLUMES)

    assert [each.claim.name for each in late.here] == ["a"]
    assert late.promised == {"n1"}
    assert late.here[0].want is None
    assert [each.claim.name for each in late.all] == ["a", "b"]


def test_a_volume_kept_for_a_claim_is_found_once() -> None:
    claim = a_claim("a")
    columns = Columns.of([a_volume("v", claim=claim.key), a_volume("free")])

    late = LateClaims.of([claim, claim], columns.volumes)

    assert [each.kept and each.kept.name for each in late.free] == ["v", None]
    assert late.has_kept


def test_a_claim_that_cannot_be_read_leaves_nothing_to_decide() -> None:
    nonsense = LabelRequirementSpec(key="tier", operator="Nonsense")
    claim = a_claim("a")
    spec = msgspec.structs.replace(
        claim.spec, selector=LabelSelectorSpec(match_expressions=(nonsense,))
    )

    late = LateClaims.of([msgspec.structs.replace(claim, spec=spec)], VOLUMES)

    assert not late.is_readable
