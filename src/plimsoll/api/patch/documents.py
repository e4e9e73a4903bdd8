"""Copying and comparing JSON values of unknown depth.

Every patch works on copies, so that neither the stored document nor the request changes while
other code reads it. Copying is also where nesting is bounded: what was copied once can be walked
recursively without overflowing the stack.
"""

from typing import Any

from plimsoll.api.patch.errors import inapplicable

MAX_DEPTH = 150
CONTAINERS = (dict, list)


def clone(value: Any, levels: int = MAX_DEPTH) -> Any:
    """A copy that shares no container with the original; refuses nesting deeper than `levels`."""
    if isinstance(value, dict):
        _check_levels(levels)
        below = levels - 1
        # Most members are no containers: not to call for them saves most of the time.
        return {
            key: clone(member, below) if isinstance(member, CONTAINERS) else member
            for key, member in value.items()
        }
    if isinstance(value, list):
        _check_levels(levels)
        below = levels - 1
        return [clone(m, below) if isinstance(m, CONTAINERS) else m for m in value]
    return value


def without_nulls(value: Any, levels: int = MAX_DEPTH) -> Any:
    """A copy whose objects have no null members; nulls that are list elements stay."""
    if isinstance(value, dict):
        _check_levels(levels)
        below = levels - 1
        return {
            key: without_nulls(member, below) if isinstance(member, CONTAINERS) else member
            for key, member in value.items()
            if member is not None
        }
    if isinstance(value, list):
        _check_levels(levels)
        below = levels - 1
        return [without_nulls(m, below) if isinstance(m, CONTAINERS) else m for m in value]
    return value


def identical(left: Any, right: Any, levels: int = MAX_DEPTH) -> bool:
    """Equality of JSON: unlike Python's, it tells 1 from 1.0 and from true."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        _check_levels(levels)
        return left.keys() == right.keys() and all(
            identical(member, right[key], levels - 1) for key, member in left.items()
        )
    if isinstance(left, list):
        _check_levels(levels)
        return len(left) == len(right) and all(
            identical(mine, yours, levels - 1) for mine, yours in zip(left, right, strict=True)
        )
    return bool(left == right)


def _check_levels(levels: int) -> None:
    if levels <= 0:
        raise inapplicable(f"the document may not be nested deeper than {MAX_DEPTH} levels")
