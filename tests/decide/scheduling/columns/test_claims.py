from plimsoll.decide.scheduling.columns.claims import ClaimIndex
from tests.builders import a_claim


def test_claims_are_found_by_volume_and_class_as_they_are_now() -> None:
    claims = ClaimIndex()
    claim = a_claim("data", volume="v", class_name="fast")
    claims.put(claim)
    assert claims.naming("v") == claims.of_class("fast") == {claim.key}

    moved = a_claim("data", volume="w", class_name="slow")
    claims.put(moved)
    assert claims.naming("v") == claims.of_class("fast") == set()
    assert claims.naming("w") == {claim.key}
    assert claims.by_key.get(claim.key) is moved

    claims.remove(claim.key)
    assert claims.naming("w") == claims.of_class("slow") == set()
    assert claims.by_key.get(claim.key) is None


def test_a_fork_is_not_changed_by_its_origin() -> None:
    claims = ClaimIndex()
    claims.put(a_claim("data", volume="v"))
    fork = claims.fork()
    claims.remove(a_claim("data").key)

    assert fork.naming("v") == {a_claim("data").key}
