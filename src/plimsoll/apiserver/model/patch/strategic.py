"""Strategic merge patch: a merge patch that knows which lists are keyed.

Directives inside the patch: `$patch` (replace or delete an object or a list element),
`$retainKeys` (drop an object's other keys), `$deleteFromPrimitiveList/x` and
`$setElementOrder/x` (which elements of list x go, and in which order the others stand).
"""

from typing import Any

from plimsoll.api.patch.documents import CONTAINERS, clone, without_nulls
from plimsoll.api.patch.errors import malformed
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.patch import keyed_lists
from plimsoll.apiserver.model.patch.patch_rules import (
    FieldRules,
    is_always_there,
    list_rules,
    object_rules,
    schema_named,
)

PATCH = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM_LIST = "$deleteFromPrimitiveList"
SET_ORDER = "$setElementOrder"


def apply(document: Document, patch: Any, schema_name: str) -> Document:
    """The patched document, which shares nothing with either argument."""
    return merge_into(dict(clone(document)), patch, schema_name)


def merge_into(document: Document, patch: Any, schema_name: str) -> Document:
    """The patched document, for callers who have no other use for the one that they give."""
    schema = schema_named(schema_name)
    if patch is None:
        return document
    if not isinstance(patch, dict):
        raise malformed("error decoding patch: a strategic merge patch is a JSON object")
    return _merge_object(document, clone(patch), schema)


# Everything below owns both of its arguments and may change them.


def _merge_object(target: Document, patch: Document, schema: Document) -> Document:
    if PATCH in patch:
        return _directed(patch)
    _retain_keys(target, patch)
    _apply_element_orders(target, patch, schema)
    for key, wanted in patch.items():
        if key.startswith(DELETE_FROM_LIST):
            _delete_elements(target, _field_of(key, DELETE_FROM_LIST), wanted)
        elif wanted is None:
            target.pop(key, None)
        elif isinstance(wanted, CONTAINERS):
            _merge_container(target, key, wanted, schema)
        else:
            target[key] = wanted
    return target


def _directed(patch: Document) -> Document:
    directive = patch.pop(PATCH)
    if directive == "replace":
        return patch
    if directive == "delete":
        return {}
    raise malformed(f"unknown patch type: {directive}")


def _merge_container(
    target: Document, key: str, wanted: Document | list[Any], schema: Document
) -> None:
    if isinstance(wanted, dict) and is_always_there(schema, key):
        target.setdefault(key, {})
    current = target.get(key)
    if isinstance(wanted, dict) and isinstance(current, dict):
        rules = object_rules(schema, key)
        merges = rules.strategy != "replace"
        target[key] = _merge_object(current, wanted, rules.schema) if merges else wanted
    elif isinstance(wanted, list) and isinstance(current, list):
        target[key] = _merge_list(current, wanted, list_rules(schema, key))
    else:
        _assign(target, key, wanted)


def _assign(target: Document, key: str, wanted: Any) -> None:
    if not isinstance(wanted, CONTAINERS):
        target[key] = wanted
        return
    kept, value = _without_directives(without_nulls(wanted))
    if kept:
        target[key] = value
    else:
        target.pop(key, None)


def _without_directives(value: Any) -> tuple[bool, Any]:
    """Whether anything is left, and what: an object with a `$patch` of its own is not a value."""
    if isinstance(value, dict):
        if PATCH in value:
            return False, None
        if not any(isinstance(member, CONTAINERS) for member in value.values()):
            return True, value
        members = ((key, _without_directives(member)) for key, member in value.items())
        return True, {key: member for key, (kept, member) in members if kept}
    if isinstance(value, list):
        return True, [member for kept, member in map(_without_directives, value) if kept]
    return True, value


def _retain_keys(target: Document, patch: Document) -> None:
    if RETAIN_KEYS not in patch:
        return
    retained = patch.pop(RETAIN_KEYS)
    if not isinstance(retained, list):
        raise malformed("invalid patch format of retainKeys")
    names = {key for key in retained if isinstance(key, str)}
    for key, wanted in patch.items():
        if wanted is None or key.startswith((DELETE_FROM_LIST, SET_ORDER)):
            continue
        if key not in names:
            raise malformed("invalid patch format of retainKeys")
    for key in [key for key in target if key not in names]:
        del target[key]


def _delete_elements(target: Document, key: str, unwanted: Any) -> None:
    current = target.get(key)
    if unwanted is None:
        target.pop(key, None)
    elif isinstance(current, list) and isinstance(unwanted, list):
        target[key] = keyed_lists.without(current, unwanted)


def _apply_element_orders(target: Document, patch: Document, schema: Document) -> None:
    """Merge the lists whose order the patch gives; they are done with afterwards."""
    for directive in [key for key in patch if key.startswith(SET_ORDER)]:
        order = patch.pop(directive)
        key = _field_of(directive, SET_ORDER)
        current, wanted = target.get(key), patch.pop(key, None)
        if not isinstance(order, list):
            raise malformed("invalid patch format of setElementOrder list")
        for listed in (current, wanted):
            if not isinstance(listed, list | None):
                raise malformed("invalid patch format of setElementOrder list")
        if current is None and wanted is None:
            continue
        rules = list_rules(schema, key)
        keyed_lists.check_order(wanted or [], order, rules.merge_key)
        merged = _merged_unordered(current, wanted, rules)
        live_order = _live_order(current or [], wanted or [], rules.merge_key)
        target[key] = keyed_lists.arranged(merged, order, live_order, rules.merge_key)


def _live_order(current: list[Any], wanted: list[Any], merge_key: str) -> list[Any]:
    """The stored order, where new elements take over the places that deleted ones leave."""
    if not merge_key:
        return current
    deletes = [e for e in wanted if e.get(PATCH) == "delete"]
    gone = {keyed_lists.key_of(element, merge_key) for element in deletes}
    kept = [e for e in current if keyed_lists.key_of(e, merge_key) not in gone]
    known = {keyed_lists.key_of(element, merge_key) for element in kept}
    new = [e for e in wanted if PATCH not in e and keyed_lists.key_of(e, merge_key) not in known]
    return kept + new[: len(current) - len(kept)]


def _merged_unordered(
    current: list[Any] | None, wanted: list[Any] | None, rules: FieldRules
) -> list[Any]:
    if wanted is None:
        return current or []
    if current is None:
        return list(_without_directives(wanted)[1])
    # `current` still tells the order of the elements that only the server knows.
    return _merge_list(list(current), wanted, rules)


def _merge_list(current: list[Any], wanted: list[Any], rules: FieldRules) -> list[Any]:
    if rules.strategy != "merge":
        return wanted
    if not keyed_lists.holds_objects(current, wanted):
        both = keyed_lists.distinct(current + wanted)
        return keyed_lists.arranged(both, wanted, current, "")
    if not rules.merge_key:
        raise malformed("cannot merge lists without a merge key")
    survivors, wanted = _follow_element_directives(current, wanted, rules.merge_key)
    merged = list(survivors)
    places = keyed_lists.first_places(merged, rules.merge_key) if wanted else {}
    for element in wanted:
        index = places.setdefault(keyed_lists.key_of(element, rules.merge_key), len(merged))
        if index == len(merged):
            merged.append(element)
        else:
            merged[index] = _merge_object(merged[index], element, rules.schema)
    return keyed_lists.arranged(merged, wanted, survivors, rules.merge_key)


def _follow_element_directives(
    current: list[Any], wanted: list[Any], merge_key: str
) -> tuple[list[Any], list[Any]]:
    """What is left of the list, and the elements of the patch that are not directives."""
    plain = [element for element in wanted if PATCH not in element]
    directives = [element for element in wanted if PATCH in element]
    for element in directives:
        if element[PATCH] not in ("delete", "replace"):
            raise malformed(f"unknown patch type: {element[PATCH]}")
    gone = {keyed_lists.key_of(e, merge_key) for e in directives if e[PATCH] == "delete"}
    if gone:
        current = [e for e in current if keyed_lists.optional_key_of(e, merge_key) not in gone]
    if any(element[PATCH] == "replace" for element in directives):
        return plain, []
    return current, plain


def _field_of(directive: str, prefix: str) -> str:
    head, slash, key = directive.partition("/")
    if head != prefix or not slash:
        raise malformed(f"invalid patch format of {prefix.removeprefix('$')} list")
    return key
