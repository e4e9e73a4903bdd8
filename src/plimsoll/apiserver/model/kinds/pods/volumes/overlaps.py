"""Warnings about files of one volume that hide each other."""

from collections.abc import Iterator

from plimsoll.api.registry import Document


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
    seen: list[str] = []
    for raw in files:
        file = raw.rstrip("/")
        for other in seen:
            if (
                file
                and other
                and f"{file}/".startswith(f"{other}/") | f"{other}/".startswith(f"{file}/")
            ):
                yield f'volume "{volume}": overlapping paths: "{file}" with "{other}"'
        seen.append(file)
