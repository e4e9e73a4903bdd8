"""ImageLocality: nodes that have a pod's images are better, the more so if many nodes have them.

An image that only one node of many has counts for little, so that pods do not crowd there. How
large an image is tells the first node that reported it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import weighted_sum
from plimsoll.decide.scheduling.columns.reported.images import sizes_by_name
from plimsoll.decide.scheduling.rule_fit import RuleFit

BEST = 100
MIB = 2**20
LEAST_BYTES = 23 * MIB
MOST_BYTES = 1000 * MIB
"""For each image of the pod. Beyond that more is not better."""
KEPT_PODS = 256


def image_names(pod: Pod) -> Iterator[str]:
    """As nodes report them, as often as the pod names them."""
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        yield normalized_name(container.image)
    for volume in pod.spec.volumes:
        if volume.image is not None:
            yield normalized_name(volume.image.reference)


def normalized_name(image: str) -> str:
    """With a tag. A colon before the last slash belongs to the port of a registry."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


@dataclass(frozen=True, slots=True)
class ImageReport:
    """What nodes say about one image."""

    size_bytes: int
    nodes: int
    """How many have it."""


def read_reports(nodes: Iterable[Node]) -> dict[str, ImageReport]:
    """By name of the image. The nodes are in the order in which they were first seen."""
    found: dict[str, ImageReport] = {}
    for node in nodes:
        for name, size_bytes in sizes_by_name(node.status.images).items():
            known = found.get(name, ImageReport(size_bytes, 0))
            found[name] = ImageReport(known.size_bytes, known.nodes + 1)
    return found


def score(pod: Pod, node: Node, reports: Mapping[str, ImageReport], all_nodes: int) -> int:
    """From 0 to 100, by how much of the pod's images is on the node."""
    names, there = [*image_names(pod)], sizes_by_name(node.status.images)
    found = [reports[name] for name in names if name in there]
    total = sum(share_of(report.size_bytes, report.nodes, all_nodes) for report in found)
    return _scaled(total, len(names))


def share_of(size_bytes: int, nodes: int, all_nodes: int) -> int:
    """Of the bytes of an image, as many as nodes have it."""
    return int(float(size_bytes) * (nodes / all_nodes))


def _scaled(size_bytes: int, images: int) -> int:
    most = MOST_BYTES * images
    capped = min(max(size_bytes, LEAST_BYTES), most)
    return BEST * (capped - LEAST_BYTES) // (most - LEAST_BYTES) if images else 0


# All nodes at once

Parts = tuple[tuple[int, int], ...]
"""For each image of a pod that some node has: the bytes that it counts for, and the nodes that have
it, as bits."""


@dataclass(frozen=True, slots=True)
class ImageScore:
    """Implements RuleScore."""

    scores: NDArray[np.int64]
    """By slot."""

    def weighted(self, _is_feasible: NDArray[np.bool_]) -> NDArray[np.int64]:
        return self.scores


class ImageLocalityColumns:
    """Implements ColumnRule. Scores are kept until nodes get or lose one of the images."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._kept: KeptResults[tuple[str, ...], tuple[Parts, ImageScore]] = KeptResults(KEPT_PODS)

    def judge(self, pod: Pod) -> RuleFit | None:
        if not self._columns.images.by_name:
            return None
        names = tuple(image_names(pod))
        parts = self._parts(names)
        if not parts:
            return None
        known, score = self._kept.get(names, ((), None))
        if score is None or known != parts or len(score.scores) != self._columns.index.size:
            score = ImageScore(self._scores(parts, len(names)))
            self._kept.keep(names, (parts, score))
        return RuleFit(score=score)

    def _parts(self, names: Iterable[str]) -> Parts:
        images = self._columns.images.by_name
        found = (images.get(name) for name in names)
        all_nodes = len(self._columns.index)
        return tuple(
            (share_of(each.size_bytes, each.nodes.bit_count(), all_nodes), each.nodes)
            for each in found
            if each is not None
        )

    def _scores(self, parts: Parts, images: int) -> NDArray[np.int64]:
        total = weighted_sum(parts, self._columns.index)
        if total is None:
            return np.zeros(self._columns.index.size, np.int64)
        most = MOST_BYTES * images
        capped = np.clip(total, LEAST_BYTES, most)
        return BEST * (capped - LEAST_BYTES) // (most - LEAST_BYTES)
