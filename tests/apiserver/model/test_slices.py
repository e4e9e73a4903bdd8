"""Work in slices has the result that it has in one piece."""

import random
from typing import Any

import msgspec

from plimsoll.apiserver.model import slices


def test_a_large_object_decoded_in_slices_is_the_same_object() -> None:
    owned: dict[str, Any] = {f"f:k{number}": {} for number in range(30_000)}
    document = {
        "metadata": {"name": "m", "managedFields": [{"fieldsV1": owned}], "labels": {"a": "b"}},
        "data": {f"k{number}": "v" for number in range(30_000)},
        "immutable": None,
    }
    raw = msgspec.json.encode(document)
    decoded = slices.decode_object(raw)
    assert decoded == document
    assert msgspec.json.encode(decoded) == raw


def test_many_texts_sorted_in_slices_have_the_order_of_all() -> None:
    texts = [f"k{number}" for number in range(25_000)]
    shuffled = random.Random(1).sample(texts, len(texts))
    assert list(slices.in_order(shuffled)) == sorted(texts)
    assert list(slices.in_order(shuffled, lambda text: int(text[1:]))) == texts
