"""What a node holds for its pods: volumes that are staged, and volumes that are published.

An entry is written down before the driver is called and taken away after it has undone the call.
So everything a driver may have done is an entry. One that is `sure` was carried out to the end;
the others may have been, and are asked for again, which costs nothing, since the calls of CSI can
be repeated.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from plimsoll.decide.csi.devices import Device

PERSISTENT, EPHEMERAL = "Persistent", "Ephemeral"


@dataclass(frozen=True, slots=True, order=True)
class PublishedPlace:
    """Where a volume is published: in which pod, under which name."""

    pod: str
    """The pod's uid."""
    name: str
    """The PersistentVolume's name, or the pod's own name for an inline volume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedVolume:
    device: Device
    name: str
    """Of the volume that it was staged for; block devices are kept under this name."""
    is_block: bool = False
    sure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedVolume:
    place: PublishedPlace
    device: Device
    is_block: bool = False
    lifecycle: str = PERSISTENT
    sure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ActualState:
    """All entries of one node at one moment."""

    staged: Mapping[Device, StagedVolume] = field(default_factory=dict)
    published: Mapping[PublishedPlace, PublishedVolume] = field(default_factory=dict)

    def of_pod(self, uid: str) -> list[PublishedVolume]:
        return sorted(
            (entry for place, entry in self.published.items() if place.pod == uid),
            key=lambda entry: entry.place,
        )

    def users(self, device: Device) -> Iterator[PublishedPlace]:
        """Where the device is published."""
        return (place for place, entry in self.published.items() if entry.device == device)

    @property
    def devices(self) -> frozenset[Device]:
        """All that a driver may have done something for here, inline volumes left out."""
        used = (e.device for e in self.published.values() if e.lifecycle == PERSISTENT)
        return frozenset(self.staged) | frozenset(used)

    @property
    def pods(self) -> frozenset[str]:
        return frozenset(place.pod for place in self.published)

    # Changes, each a new value

    def with_staged(self, entry: StagedVolume, *, sure: bool) -> "ActualState":
        return replace(self, staged={**self.staged, entry.device: replace(entry, sure=sure)})

    def without_staged(self, entry: StagedVolume) -> "ActualState":
        return replace(self, staged={d: e for d, e in self.staged.items() if d != entry.device})

    def with_published(self, entry: PublishedVolume, *, sure: bool) -> "ActualState":
        entries = {**self.published, entry.place: replace(entry, sure=sure)}
        return replace(self, published=entries)

    def without_published(self, entry: PublishedVolume) -> "ActualState":
        left = {place: e for place, e in self.published.items() if place != entry.place}
        return replace(self, published=left)
