"""Where a volume is cheap to use, although it can be reached from elsewhere too: soft locality.

A driver tells it in the context of a volume, and a provisioner copies it to an annotation of the
PersistentVolume: a JSON list of labels of nodes, the widest domain first.

    [{"topology.example.com/region": "east"}, {"topology.example.com/zone": "b"}]

Nodes with the first label are near, those that have the second as well are nearer. An object in
place of the list is a domain of one level. Text that says nothing of this kind is passed over:
locality is a preference, and never keeps a pod or a volume from anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from plimsoll.decide.annotations import PLACEMENT_REASON, PREFERRED_TOPOLOGY

LONGEST_TEXT = 2048
MOST_LEVELS = 8
BEST_SCORE = 100

Labels = Mapping[str, str]
Level = tuple[tuple[str, str], ...]
"""Labels that a node must have, all of them."""


@dataclass(frozen=True, slots=True)
class PreferredTopology:
    levels: tuple[Level, ...]
    """From wide to narrow; a level counts where all before it do."""

    def matching(self, labels: Labels) -> int:
        """How many levels a node with these labels shares with the data."""
        for number, level in enumerate(self.levels):
            if any(labels.get(key) != value for key, value in level):
                return number
        return len(self.levels)

    def score_at(self, matching: int) -> int:
        """From 0 to 100, for a node that shares so many levels."""
        return BEST_SCORE * matching // len(self.levels)

    @property
    def labels(self) -> dict[str, str]:
        return dict(pair for level in self.levels for pair in level)


def preferred_text(levels: Sequence[Labels]) -> str:
    """What a driver tells; empty without a level: it has no preference."""
    return msgspec.json.encode([dict(level) for level in levels]).decode() if levels else ""


@lru_cache(maxsize=4096)
def find_preferred(text: str) -> PreferredTopology | None:
    """None: the text tells no preference."""
    if not text or len(text) > LONGEST_TEXT:
        return None
    try:
        read = msgspec.json.decode(text, type=list[dict[str, str]] | dict[str, str])
    except (msgspec.DecodeError, UnicodeError):
        return None
    levels = read if isinstance(read, list) else [read]
    if not 0 < len(levels) <= MOST_LEVELS or not all(levels):
        return None
    return PreferredTopology(tuple(tuple(level.items()) for level in levels))


def told_locality(annotations: Labels) -> str:
    """What the annotations of a volume say about its place, for people; empty: nothing."""
    text = annotations.get(PREFERRED_TOPOLOGY, "")
    preferred = find_preferred(text)
    told = [annotations.get(PLACEMENT_REASON, "")]
    if preferred is not None:
        shown = ", ".join(f"{key}={value}" for key, value in preferred.labels.items())
        told.append(f"It is cheap to use on nodes with {shown}.")
    elif text:
        told.append(f"Its annotation {PREFERRED_TOPOLOGY} cannot be read and does not count.")
    return " ".join(filter(None, told))
