"""Whether what a driver made is recorded: then it may be in use, and is not undone."""

from collections.abc import Iterable
from dataclasses import dataclass

from plimsoll.api.volumes import PersistentVolume


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """What a driver made, or was asked to make."""

    driver: str
    volume_name: str
    """Of the PersistentVolume that would record it."""
    volume_id: str = ""
    """Empty: the driver has not told it."""


def is_recorded(asset: Asset, volumes: Iterable[PersistentVolume]) -> bool:
    """`volumes` are all that the server has now: no cache is asked."""
    return any(
        volume.name == asset.volume_name or (asset.volume_id and _is_behind(asset, volume))
        for volume in volumes
    )


def _is_behind(asset: Asset, volume: PersistentVolume) -> bool:
    source = volume.spec.csi
    return source is not None and (source.driver, source.volume_handle) == (
        asset.driver,
        asset.volume_id,
    )
