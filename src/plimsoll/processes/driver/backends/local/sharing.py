"""Dividing the room of one file system between disks that lie on it: pure arithmetic."""

from collections.abc import Mapping


def shared_fairly(room: int, wanted: Mapping[str, int]) -> dict[str, int]:
    """Each gets what it wants or an equal part of what the others leave, never more than `room`
    in sum: it can be given out in any order."""
    shares: dict[str, int] = {}
    left = max(0, room)
    # The most modest first: what they do not want is the others'.
    for number, name in enumerate(sorted(wanted, key=lambda name: (wanted[name], name))):
        shares[name] = min(wanted[name], left // (len(wanted) - number))
        left -= shares[name]
    return shares
