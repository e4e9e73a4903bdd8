"""Topology terms: sets of labels that a volume may be reachable from, sorted and compared.

A term is a tuple of (key, value) pairs in order. It may hold a key twice, as classes can ask for
that: what is sent to the driver then has the later value.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from plimsoll.api.selectors.topology import TopologyTermSpec

Term = tuple[tuple[str, str], ...]

FNV_START = 2166136261
FNV_PRIME = 16777619
UINT32 = 1 << 32


def flattened(allowed: Iterable[TopologyTermSpec]) -> list[Term]:
    """Each way to choose one value per key, of all terms of a class's allowedTopologies."""
    return [tuple(sorted(term)) for spec in allowed for term in _choices(spec)]


def _choices(spec: TopologyTermSpec) -> list[Term]:
    found: list[Term] = []
    for label in spec.match_label_expressions:
        pairs = [(label.key, value) for value in label.values]
        # A key without values forgets the keys before it: that is csi-provisioner's reading.
        found = [(*term, pair) for pair in pairs for term in (found or [()])]
    return found


def in_order(terms: Iterable[Term]) -> list[Term]:
    """Without duplicates, short ones first."""
    return sorted(set(terms), key=lambda term: (len(term), term))


def is_within(term: Term, segment: Term) -> bool:
    """Whether all that the term asks for holds in the segment."""
    return Counter(term) <= Counter(segment)


def term_of(labels: Mapping[str, str], keys: Iterable[str]) -> Term | None:
    """The part of the labels that the driver cares for; None if one of the keys is missing."""
    wanted = tuple(keys)
    if any(key not in labels for key in wanted):
        return None
    return tuple(sorted((key, labels[key]) for key in wanted))


def rotated(terms: Sequence[Term], start: int) -> list[Term]:
    return list(chain(terms[start:], terms[:start]))


def spread(claim_name: str) -> tuple[int, int]:
    """A hash and an index; their sum tells where the volumes of a StatefulSet begin.

    Claims of a StatefulSet are called `<claim>-<set>-<index>`: all claims of one replica begin at
    the same term, and those of the next replica one further on.
    """
    rest, dash, suffix = claim_name.rpartition("-")
    if not dash or not (suffix.isascii() and suffix.isdigit()) or int(suffix) >= UINT32:
        return _fnv1(claim_name), 0
    return _fnv1(rest.rpartition("-")[2]), int(suffix)


def spread_start(claim_name: str, count: int) -> int:
    number, index = spread(claim_name)
    return (number + index) % UINT32 % count


def _fnv1(text: str) -> int:
    number = FNV_START
    for byte in text.encode():
        number = number * FNV_PRIME % UINT32 ^ byte
    return number
