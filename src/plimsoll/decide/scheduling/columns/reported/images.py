"""Which nodes have which container images, and how large these are.

Nodes report the same image with different sizes; the first report counts until no node has the
image any more. Nodes report their images with every heartbeat, mostly the same: then nothing is
done.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plimsoll.api.core import ContainerImage


@dataclass(slots=True)
class ReportedImage:
    size_bytes: int
    nodes: int
    """As bits."""


class ImageIndex:
    def __init__(self) -> None:
        self.by_name: dict[str, ReportedImage] = {}
        """Not to be written to."""

    def change(
        self, slot: int, old: Iterable[ContainerImage], new: Iterable[ContainerImage]
    ) -> None:
        """Of a node that is there, comes or goes."""
        before, after = sizes_by_name(old), sizes_by_name(new)
        for name in before.keys() - after.keys():
            self._drop(name, 1 << slot)
        for name, size in after.items():
            if before.get(name) != size:
                self._add(name, size, 1 << slot)

    def _add(self, name: str, size_bytes: int, bit: int) -> None:
        image = self.by_name.get(name)
        if image is None or image.nodes == bit:
            self.by_name[name] = ReportedImage(size_bytes, bit)
        else:
            image.nodes |= bit

    def _drop(self, name: str, bit: int) -> None:
        image = self.by_name[name]
        image.nodes &= ~bit
        if not image.nodes:
            del self.by_name[name]

    def fork(self) -> "ImageIndex":
        twin = ImageIndex()
        twin.by_name = {
            name: ReportedImage(image.size_bytes, image.nodes)
            for name, image in self.by_name.items()
        }
        return twin


def sizes_by_name(images: Iterable[ContainerImage]) -> Mapping[str, int]:
    """An image has several names; of one that is listed twice the first size counts."""
    found: dict[str, int] = {}
    for image in images:
        for name in image.names or ():
            found.setdefault(name, image.size_bytes)
    return found
