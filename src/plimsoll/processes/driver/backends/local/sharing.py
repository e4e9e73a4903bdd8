"""Dividing the free capacity of one file system between disks that lie on it: pure arithmetic."""

from collections.abc import Mapping


def shared_fairly(free_bytes: int, wanted: Mapping[str, int]) -> dict[str, int]:
    """Each disk gets what it wants, or an equal part of what the others leave. The sum is never
    more than `free_bytes`, so the shares can be used in any order."""
    shares: dict[str, int] = {}
    left = max(0, free_bytes)
    # Those that want least first: what they leave goes to the others.
    for number, name in enumerate(sorted(wanted, key=lambda name: (wanted[name], name))):
        shares[name] = min(wanted[name], left // (len(wanted) - number))
        left -= shares[name]
    return shares
