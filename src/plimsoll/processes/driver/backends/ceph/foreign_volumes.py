"""Volumes and snapshots of ceph-csi that this driver does not change, and the message for each."""

from typing import NoReturn

from plimsoll.decide.ceph.journal.stored_records import JournalRecord
from plimsoll.wire.csi.refusals import failed_precondition


def check_usable(id_: str, stored: JournalRecord) -> None:
    """Raises CsiStatusError."""
    found = stored.attributes
    if found is not None and found.kms_id:
        raise failed_precondition(
            f"volume {id_}: was encrypted by ceph-csi, and only ceph-csi can use or delete it"
        )
    if found is not None and found.backing_snapshot_id:
        raise failed_precondition(
            f"volume {id_}: shows a snapshot of ceph-csi, and only ceph-csi can use or delete it"
        )


def refuse_foreign_snapshot(id_: str) -> NoReturn:
    """Snapshots of ceph-csi are left to it: they share what they store with others."""
    raise failed_precondition(
        f"snapshot {id_}: was taken by ceph-csi, and only ceph-csi can use or delete it"
    )
