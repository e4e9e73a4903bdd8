"""Elements of a list that were there before."""

from collections.abc import Iterator, Sequence

import msgspec

from plimsoll.api.registry import Document


def repeated(elements: Sequence[Document]) -> Iterator[tuple[int, Document]]:
    """Those that equal an earlier one, with their places."""
    seen: set[bytes] = set()
    for index, element in enumerate(elements):
        text = msgspec.json.encode(element, order="deterministic")
        if text in seen:
            yield index, element
        seen.add(text)
