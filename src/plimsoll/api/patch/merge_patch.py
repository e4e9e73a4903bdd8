"""JSON merge patch (RFC 7386): null removes, objects merge, everything else replaces.

Null members inside a value that is added are dropped, also below lists.
"""

from typing import Any

from plimsoll.api.patch.documents import MAX_DEPTH, clone, without_nulls
from plimsoll.api.patch.errors import inapplicable, malformed
from plimsoll.api.registry import Document


def apply(document: Document, patch: Any) -> Document:
    """The patched document, which shares nothing with either argument."""
    return merge_into(clone(document), patch)


def merge_into(document: Document, patch: Any) -> Document:
    """The patched document, for callers who have no other use for the one that they give."""
    if not isinstance(patch, dict):
        raise malformed("error decoding patch: a merge patch is a JSON object")
    return _merged(document, patch, MAX_DEPTH)


def _merged(target: Document, patch: Document, levels: int) -> Document:
    """`target` is ours to change, `patch` is not."""
    if levels <= 0:
        raise inapplicable(f"the patch may not be nested deeper than {MAX_DEPTH} levels")
    for key, wanted in patch.items():
        current = target.get(key)
        if wanted is None:
            target.pop(key, None)
        elif isinstance(wanted, dict) and isinstance(current, dict):
            target[key] = _merged(current, wanted, levels - 1)
        else:
            target[key] = without_nulls(wanted, levels - 1)
    return target
