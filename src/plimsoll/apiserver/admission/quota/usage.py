"""What a ResourceQuota limits, and how much of it is used.

Pure functions over documents.
"""

from collections.abc import Iterable, Iterator, Mapping

from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Reader
from plimsoll.apiserver.admission.quota.charges import (
    BY_CLASS,
    CLAIMS,
    COUNTED,
    LOAD_BALANCERS,
    NODE_PORTS,
    PODS,
    SERVICES,
    STORAGE,
    Usage,
)
from plimsoll.apiserver.admission.quota.compute import is_compute
from plimsoll.apiserver.admission.quota.scopes import Scope, scopes_of

NOTHING = Quantity(0)


def limited_here(quota: Document, group: str, plural: str) -> dict[str, Quantity]:
    """The hard limits of a quota that objects of this resource can come up against."""
    return {
        name: parse_quantity(text)
        for name, text in _hard(quota).items()
        if (group, plural) in _counted_resources(name)
    }


def _hard(quota: Document) -> Mapping[str, str]:
    hard: Mapping[str, str] = (quota.get("spec") or {}).get("hard") or {}
    return hard


def _counted_resources(name: str) -> Iterator[tuple[str, str]]:
    """(group, plural) of the objects that use up what a quota calls `name`; none if unknown."""
    if name.startswith("count/"):
        plural, _, group = name.removeprefix("count/").partition(".")
        yield group, plural
    elif name in COUNTED:
        yield "", name
    elif name in (NODE_PORTS, LOAD_BALANCERS):
        yield "", SERVICES
    elif name == STORAGE or name.endswith((BY_CLASS + CLAIMS, BY_CLASS + STORAGE)):
        yield "", CLAIMS
    elif is_compute(name):
        yield "", PODS


def is_counted(name: str) -> bool:
    """Whether a limit that a quota calls `name` is kept."""
    return any(True for _ in _counted_resources(name))


def usage(quota: Document, reader: Reader) -> dict[str, str]:
    """What `status.used` should say: of everything that the quota limits and that is counted."""
    used = measured(quota, reader, _hard(quota))
    return {name: str(amount) for name, amount in used.items()}


def counted_sets(quota: Document) -> Iterator[tuple[str, str, tuple[Scope, ...]]]:
    """Group and plural of the objects that the quota counts, and in which scopes."""
    scopes = scopes_of(quota)
    resources = {each for name in _hard(quota) for each in _counted_resources(name)}
    for group, plural in sorted(resources):
        yield group, plural, scopes


def measured(quota: Document, reader: Reader, names: Iterable[str]) -> Usage:
    wanted = {name: set(_counted_resources(name)) for name in names}
    used = {name: NOTHING for name, resources in wanted.items() if resources}
    namespace, scopes = quota["metadata"]["namespace"], scopes_of(quota)
    for group, plural in sorted(set().union(*wanted.values())):
        tally = reader.tally(group, plural, namespace, scopes)
        used |= tally.totals(name for name in used if (group, plural) in wanted[name])
    return used
