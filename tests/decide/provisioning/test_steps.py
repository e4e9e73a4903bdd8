from plimsoll.decide.plan import Create
from plimsoll.decide.provisioning.steps import NOTHING_KNOWN, ClaimMemory, ProvisioningRecord
from tests.decide.provisioning.builders import CLAIM, NAME, a_volume_document, a_world


def test_a_claim_that_was_never_looked_at_has_nothing_to_remember() -> None:
    assert ClaimMemory() == NOTHING_KNOWN
    assert NOTHING_KNOWN.in_progress is None


def test_a_recorded_volume_is_stored_as_it_was_made() -> None:
    claim = a_world().claim(CLAIM)
    assert claim is not None

    record = ProvisioningRecord(volume=a_volume_document(), claim=claim, memory=NOTHING_KNOWN)

    (create,) = record.creation.writes
    assert isinstance(create, Create)
    assert create.document == record.volume
    assert create.key.name == NAME
