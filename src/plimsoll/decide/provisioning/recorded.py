"""Whether what a driver made is recorded: then it may be in use, and is not undone.

A volume that was asked for under the name of its PersistentVolume is recorded by any
PersistentVolume of that name: every provisioner asks for that name, and a driver answers with the
same volume. One that was asked for under a number is told by its handle, because another program
may have recorded a volume of its own under the name meanwhile. So is one that a provisioner of a
single node has asked for: the driver of another node answers with a volume of its own; and one that
was given up, beside which the claim gets another. Where handles cannot be compared, the name counts
as well. The name says nothing where the volume itself names another provisioner: the class of the
claim was made anew meanwhile, for that one.

What is not recorded now may have been so once: another program has recorded it, a pod has used it,
and the PersistentVolume is gone again. `find_doubt` says when that is possible.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import PROVISIONED_BY
from plimsoll.decide.csi.migration import is_in_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """What a driver made, or was asked to make."""

    driver: str
    volume_name: str
    """Of the PersistentVolume that would record it."""
    volume_id: str = ""
    """Empty: the driver has not told it."""
    number: int = 0
    """What the driver was told behind that name; 0: nothing."""
    node: str = ""
    """The one whose provisioner has asked for it, where each node has its own."""
    is_given_up: bool = False
    """The claim gets another volume of the name."""

    @property
    def is_named_alike(self) -> bool:
        """Whether every provisioner of the driver gets this volume by the name."""
        return not (self.number or self.node or self.is_given_up)


class AssetRecording(StrEnum):
    NONE = "None"
    """No PersistentVolume tells of it."""
    FOUND = "Found"
    """One does: it may be in use."""
    UNTOLD = "Untold"
    """One has its name. Whether it tells of this volume or of another, only the driver can say."""


def find_recording(asset: Asset, volumes: Iterable[PersistentVolume]) -> AssetRecording:
    """`volumes` are all that the server has now: no cache is asked."""
    found = AssetRecording.NONE
    for volume in volumes:
        if asset.volume_id and _is_behind(asset, volume):
            return AssetRecording.FOUND
        if volume.name == asset.volume_name:
            found = _by_name(asset, volume)
    return found


def is_of_other_provisioner(annotations: Mapping[str, str], provisioner: str) -> bool:
    """Whether a volume with these annotations tells of what another provisioner made. A plugin of
    Kubernetes itself may stand for the CSI driver that took over from it."""
    maker = annotations.get(PROVISIONED_BY, "")
    return maker not in ("", provisioner) and not is_in_tree(maker)


def _by_name(asset: Asset, volume: PersistentVolume) -> AssetRecording:
    source = volume.spec.csi
    if is_of_other_provisioner(volume.annotations, asset.driver):
        # A driver under another name, for the same storage, gives the same volume.
        is_same = source is not None and source.volume_handle == asset.volume_id
        return AssetRecording.FOUND if is_same else AssetRecording.NONE
    if asset.is_named_alike or source is None or source.driver != asset.driver:
        return AssetRecording.FOUND
    return AssetRecording.NONE if asset.volume_id else AssetRecording.UNTOLD


def is_recorded(asset: Asset, volumes: Iterable[PersistentVolume]) -> bool:
    """For certain."""
    return find_recording(asset, volumes) is AssetRecording.FOUND


def _is_behind(asset: Asset, volume: PersistentVolume) -> bool:
    source = volume.spec.csi
    return source is not None and (source.driver, source.volume_handle) == (
        asset.driver,
        asset.volume_id,
    )


class OtherLeaders(StrEnum):
    """Which other programs may have recorded a volume since it was stored that it is asked for."""

    NONE = "None"
    """Only copies of ours have led."""
    BESIDE = "Beside"
    """No leader is elected. This process has stored it; if it stood still, or is not alone, another
    program may have acted in its place."""
    BETWEEN = "Between"
    """One may have led before this process."""


def find_doubt(
    wanted_by: PersistentVolumeClaim, volume_name: str, claim: PersistentVolumeClaim | None
) -> str:
    """Why a pod may have used a volume that was made for `wanted_by`; empty: none has. `claim` is
    what the server has under its name now. Once a claim names a volume, it names it for ever: so no
    pod can have used through it what it does not name."""
    if claim is None or claim.uid != wanted_by.uid:
        return "no leader is elected, and its claim is gone"
    if claim.spec.volume_name == volume_name:
        return "no leader is elected, and its claim has had it"
    return ""
