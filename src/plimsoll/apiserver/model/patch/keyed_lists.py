"""Lists that a strategic merge patch treats as sets or as maps by a merge key.

Order matters to users: elements of the patch keep the patch's order, elements that only the
stored list has keep theirs and go before the first patched element that they preceded.
An empty merge key means that the elements are scalars.
"""

from typing import Any

from plimsoll.api.patch.errors import malformed

# An element's identity: JSON tells 1, 1.0 and true apart, Python's == does not.
Key = tuple[type, Any]


def holds_objects(*lists: list[Any]) -> bool:
    """Whether the elements are objects; a mixture cannot be merged."""
    kinds = {type(element) for elements in lists for element in elements}
    if list in kinds:
        raise malformed("lists of lists are not supported")
    if len(kinds) > 1:
        raise malformed("list element types are not identical")
    return kinds == {dict}


def optional_key_of(element: Any, merge_key: str) -> Key | None:
    value = element
    if merge_key:
        if not isinstance(element, dict):
            raise malformed(f"a list element does not contain declared merge key: {merge_key}")
        if merge_key not in element:
            return None
        value = element[merge_key]
    if isinstance(value, dict | list):
        raise malformed("list elements are told apart by a scalar")
    return type(value), value


def key_of(element: Any, merge_key: str) -> Key:
    key = optional_key_of(element, merge_key)
    if key is None:
        raise malformed(f"a list element does not contain declared merge key: {merge_key}")
    return key


def first_places(elements: list[Any], merge_key: str) -> dict[Key, int]:
    """Where each key occurs first; elements without a key are passed over."""
    places: dict[Key, int] = {}
    for index, element in enumerate(elements):
        key = optional_key_of(element, merge_key)
        if key is not None:
            places.setdefault(key, index)
    return places


def distinct(scalars: list[Any]) -> list[Any]:
    return list({key_of(scalar, ""): scalar for scalar in scalars}.values())


def without(scalars: list[Any], unwanted: list[Any]) -> list[Any]:
    gone = {key_of(scalar, "") for scalar in unwanted}
    return [scalar for scalar in scalars if key_of(scalar, "") not in gone]


def check_order(patched: list[Any], order: list[Any], merge_key: str) -> None:
    """The elements of the patch must stand in the order that the patch asks for."""
    remaining = iter([key_of(element, merge_key) for element in order])
    for element in patched if order else []:
        if isinstance(element, dict) and "$patch" in element:
            continue
        if key_of(element, merge_key) not in remaining:
            raise malformed("The order in patch list doesn't match $setElementOrder list")


def arranged(
    merged: list[Any], patch_order: list[Any], live_order: list[Any], merge_key: str
) -> list[Any]:
    wanted_places, live_places = _places(patch_order, merge_key), _places(live_order, merge_key)
    keyed = [(key_of(element, merge_key), element) for element in merged]
    patched = sorted(
        (pair for pair in keyed if pair[0] in wanted_places), key=lambda p: wanted_places[p[0]]
    )
    others = sorted(
        (pair for pair in keyed if pair[0] not in wanted_places),
        key=lambda p: live_places.get(p[0], len(live_places)),
    )
    return _interleaved(others, patched, live_places)


def _places(order: list[Any], merge_key: str) -> dict[Key, int]:
    """The first place of each key."""
    places: dict[Key, int] = {}
    for index, element in enumerate(order):
        places.setdefault(key_of(element, merge_key), index)
    return places


def _interleaved(
    others: list[tuple[Key, Any]], patched: list[tuple[Key, Any]], live_places: dict[Key, int]
) -> list[Any]:
    result: list[Any] = []
    waiting = iter(others)
    other = next(waiting, None)
    for key, element in patched:
        while other is not None and _precedes(other[0], key, live_places):
            result.append(other[1])
            other = next(waiting, None)
        result.append(element)
    if other is not None:
        result.append(other[1])
    result.extend(element for _, element in waiting)
    return result


def _precedes(left: Key, right: Key, places: dict[Key, int]) -> bool:
    return left in places and right in places and places[left] < places[right]
