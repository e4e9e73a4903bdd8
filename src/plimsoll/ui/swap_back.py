"""`plimsoll provisioner --prepare-swap-back`: what keeps csi-provisioner from taking over again."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from plimsoll.api.core import Lease, Node
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.plan import Delete, Patch
from plimsoll.decide.records import RECORD
from plimsoll.decide.repair.swap_back import LeftRecord, SwapBackView, leftovers
from plimsoll.decide.rollback.records import ROLLBACK_KIND
from plimsoll.ui.explain.layout import table
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Deletion, Selection, merge_patch

LEASES = documents(typed(Lease).resource)
VOLUMES = documents(typed(PersistentVolume).resource)
HEAD = ("RESULT", "WHAT", "WHERE", "FOR", "WHY OR WHAT TO DO")


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapBackReport:
    driver: str
    cleared: tuple[LeftRecord, ...]
    left: tuple[LeftRecord, ...]
    is_rehearsal: bool = False
    is_known: bool = True
    """A class, a volume or a record names the driver."""

    @property
    def is_ready(self) -> bool:
        return not self.left

    def lines(self) -> Iterator[str]:
        word = "would clear" if self.is_rehearsal else "cleared"
        rows = [(word, *_cells(each)) for each in self.cleared]
        rows += [("outstanding", *_cells(each)) for each in self.left]
        if rows:
            yield f"{table(HEAD, rows)}\n"
        if self.is_ready:
            yield f"Nothing is outstanding for {self.driver}: csi-provisioner can take over."
        else:
            yield f"Outstanding for {self.driver}: {len(self.left)}. Keep plimsoll provisioner."


def _cells(left: LeftRecord) -> tuple[str, str, str, str]:
    return left.what, left.place, left.about, left.why


async def prepare_swap_back(client: KubeClient, driver: str, *, dry_run: bool) -> SwapBackReport:
    """Clears what is safe to clear, unless it is a dry run. Closes the client. Raises KubeError."""
    try:
        view = await _read(client, driver)
        found = leftovers(view)
        cleared, left = [], []
        for each in found:
            if each.clearing is not None and (dry_run or await _clear(client, each.clearing)):
                cleared.append(each)
            else:
                left.append(each)
    finally:
        await client.close()
    return SwapBackReport(
        driver=driver,
        cleared=tuple(cleared),
        left=tuple(left),
        is_rehearsal=dry_run,
        is_known=bool(found) or _is_named(driver, view),
    )


def _is_named(driver: str, view: SwapBackView) -> bool:
    sources = (volume.spec.csi for volume in view.volumes)
    of_volumes = {source.driver for source in sources if source is not None}
    return driver in of_volumes or driver in view.provisioners.values()


async def _read(client: KubeClient, driver: str) -> SwapBackView:
    """Records first: what is recorded or bound by then is seen after them. Those of rollbacks once
    more at the end, so that no mark of one that begins meanwhile is seen without its record.
    """
    records = (await client.list(LEASES, Selection(labels=RECORD))).items
    claims = (await client.list(typed(PersistentVolumeClaim))).items
    volumes = (await client.list(typed(PersistentVolume))).items
    classes = (await client.list(typed(StorageClass))).items
    known = {lease["metadata"]["uid"] for lease in records}
    rollbacks = await client.list(LEASES, Selection(labels=f"{RECORD}={ROLLBACK_KIND}"))
    begun = [each for each in rollbacks.items if each["metadata"]["uid"] not in known]
    return SwapBackView(
        driver=driver,
        records=[*records, *begun],
        claims={claim.key: claim for claim in claims},
        volumes=volumes,
        nodes={node.name for node in (await client.list(typed(Node))).items},
        provisioners={class_.name: class_.provisioner for class_ in classes},
    )


async def _clear(client: KubeClient, clearing: Delete | Patch) -> bool:
    """False: the object has changed since it was read, and has to be looked at again."""
    try:
        match clearing:
            case Delete():
                seen = Deletion(uid=clearing.uid, resource_version=clearing.version)
                await client.delete(LEASES, clearing.key, seen)
            case Patch():
                metadata = {**clearing.patch["metadata"], "resourceVersion": clearing.version}
                await client.patch(VOLUMES, clearing.key, merge_patch({"metadata": metadata}))
            case _:
                assert_never(clearing)
    except KubeError as error:
        if error.failure is Failure.NOT_FOUND:
            return True
        if error.failure is Failure.CONFLICT:
            return False
        raise
    return True
