"""The sums are those of the records, whatever was written, and by which driver process."""

from collections import Counter

from hypothesis import given, strategies as st

from plimsoll.processes.driver.accounts import Accounts
from plimsoll.processes.driver.backends.protocol import Charges
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.records import (
    Attachment,
    Part,
    RecordPhase,
    SnapshotRecord,
    VolumeMode,
    VolumePlacement,
    VolumeRecord,
)
from plimsoll.runtime.clock import EPOCH

IDS, EXTENTS, NODES = ("a", "b", "c"), ("disk-1", "disk-2"), ("node-1", "node-2")

parts = st.lists(
    st.builds(Part, extent=st.sampled_from(EXTENTS), bytes=st.integers(0, 5)), max_size=3
).map(tuple)
placements = st.builds(VolumePlacement, pools=st.just(("pool",)), parts=parts)
attachments = st.lists(
    st.builds(Attachment, node_id=st.sampled_from(NODES)), max_size=2, unique=True
).map(tuple)
volumes = st.builds(
    lambda id_, placement, phase, attached: VolumeRecord(
        id=id_,
        name=f"pvc-{id_}",
        size_bytes=1,
        mode=VolumeMode.FILESYSTEM,
        placement=placement,
        phase=phase,
        created_at=EPOCH,
        attachments=attached,
    ),
    st.sampled_from(IDS),
    placements,
    st.sampled_from(RecordPhase),
    attachments,
)
snapshots = st.builds(
    lambda id_, placement, phase: SnapshotRecord(
        id=id_,
        name=f"snapshot-{id_}",
        volume_id="a",
        size_bytes=1,
        mode=VolumeMode.FILESYSTEM,
        placement=placement,
        phase=phase,
        created_at=EPOCH,
    ),
    st.sampled_from(IDS),
    placements,
    st.sampled_from(RecordPhase),
)
written = st.lists(volumes | snapshots | st.sampled_from(IDS), max_size=12)


def write(ledger: Ledger, step: VolumeRecord | SnapshotRecord | str) -> None:
    """A name stands for the removal of the volume and the snapshot that have it."""
    match step:
        case VolumeRecord():
            ledger.volumes.put(step)
        case SnapshotRecord():
            ledger.snapshots.put(step)
        case id_:
            ledger.volumes.drop(id_)
            ledger.snapshots.drop(id_)


def added_up(ledger: Ledger) -> Charges:
    promised: Counter[str] = Counter()
    unmade: Counter[str] = Counter()
    entries: list[VolumeRecord | SnapshotRecord] = [*ledger.volumes.all()]
    entries += ledger.snapshots.all()
    for entry in entries:
        for part in entry.placement.parts:
            promised[part.extent] += part.bytes
            unmade[part.extent] += part.bytes * (entry.phase is RecordPhase.MAKING)
    return Charges(promised=+promised, unmade=+unmade)


@given(written, written)
def test_the_sums_follow_every_record(
    earlier: list[VolumeRecord | SnapshotRecord | str],
    later: list[VolumeRecord | SnapshotRecord | str],
) -> None:
    ledger = Ledger(None)
    for step in earlier:
        write(ledger, step)
    accounts = Accounts(ledger)
    for step in later:
        write(ledger, step)
    assert accounts.charges() == added_up(ledger)
    for node in NODES:
        users = [v for v in ledger.volumes.all() if node in {a.node_id for a in v.attachments}]
        assert accounts.attached_to(node) == len(users)
    ledger.close()


@given(written)
def test_an_answer_stays_as_it_was(steps: list[VolumeRecord | SnapshotRecord | str]) -> None:
    ledger = Ledger(None)
    accounts = Accounts(ledger)
    before = accounts.charges()
    for step in steps:
        write(ledger, step)
    assert before == Charges(promised={}, unmade={})
    ledger.close()
