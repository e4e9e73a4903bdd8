"""The tables of all functions: by name alone, on a value, or with the name of their family."""

from collections.abc import Callable
from typing import Any

from plimsoll.apiserver.model.custom.cel.library import (
    addresses,
    authorizers,
    conversions,
    formats,
    lists,
    optionals,
    quantities,
    semver,
    strings,
    times,
    urls,
)

Function = Callable[..., Any]

FUNCTIONS: dict[str, Function] = (
    conversions.FUNCTIONS
    | quantities.FUNCTIONS
    | addresses.FUNCTIONS
    | urls.FUNCTIONS
    | semver.FUNCTIONS
    | strings.FUNCTIONS
)
METHODS: dict[str, Function] = {}
NAMESPACES: dict[str, Function] = lists.NAMESPACES | optionals.NAMESPACES | formats.NAMESPACES

_FAMILIES = (
    strings.METHODS,
    lists.METHODS,
    optionals.METHODS,
    times.METHODS,
    quantities.METHODS,
    addresses.METHODS,
    urls.METHODS,
    semver.METHODS,
    formats.METHODS,
    conversions.METHODS,
    authorizers.METHODS,
)


def _either(one: Function, other: Function) -> Function:
    """Methods of one name on values of different types: each refuses what is not its own."""

    def method(*arguments: Any) -> Any:
        try:
            return one(*arguments)
        except (TypeError, AttributeError):
            return other(*arguments)

    return method


for _family in _FAMILIES:
    for _name, _method in _family.items():
        _known = METHODS.get(_name)
        METHODS[_name] = _method if _known is None else _either(_known, _method)
