"""Warnings about files of one volume that hide each other."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, islice, product

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.slices import in_order

MOST_OVERLAPS = 1000
"""Of one volume: more than an answer has room for."""


def overlap_warnings(volumes: list[Document]) -> Iterator[str]:
    for volume in volumes:
        name = volume.get("name", "")
        for kind in ("configMap", "secret", "downwardAPI"):
            items = (volume.get(kind) or {}).get("items") or []
            yield from _overlaps([item.get("path", "") for item in items], name)
        files: list[str] = []
        for source in (volume.get("projected") or {}).get("sources") or []:
            if not source:
                yield f'volume "{name}" (Projected) has no sources provided'
            files += _projected_files(source)
        yield from _overlaps(files, name)


def _projected_files(source: Document) -> list[str]:
    """What one source puts into the volume; only the first kind it names counts."""
    for kind in ("configMap", "secret", "downwardAPI"):
        items = (source.get(kind) or {}).get("items")
        if items:
            return [item.get("path", "") for item in items]
    for kind in ("serviceAccountToken", "clusterTrustBundle"):
        if kind in source:
            return [source[kind].get("path", "")]
    certificate = source.get("podCertificate") or {}
    names = ("certificateChainPath", "keyPath", "credentialBundlePath")
    return [certificate[name] for name in names if certificate.get(name)]


def _overlaps(files: list[str], volume: str) -> Iterator[str]:
    names = [file.rstrip("/") for file in files]
    for place, other in sorted(islice(_nested(names), MOST_OVERLAPS)):
        yield f'volume "{volume}": overlapping paths: "{names[place]}" with "{names[other]}"'


def _nested(names: list[str]) -> Iterator[tuple[int, int]]:
    """Which two are the same file, or one below the other: the later place first.

    In the order of names all that is below a file follows it.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        if name:
            places[f"{name}/"].append(place)
    above: list[str] = []
    for name in in_order(places):
        while above and not name.startswith(above[-1]):
            above.pop()
        for earlier, later in combinations(places[name], 2):
            yield later, earlier
        for place, outer in product(places[name], above):
            for other in places[outer]:
                yield max(place, other), min(place, other)
        above.append(name)
