"""The parameter `topologyConstrainedPools` of a class: pools, and the domains that they are near.

It is a list in JSON, the same that ceph-csi reads. Beyond that an entry may name the cluster that
its pool is in. ceph-csi accepts entries with which no volume could be placed, or which place it
anywhere after a typing error; here they are refused with the place of the error.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn, TypeVar

from plimsoll.decide.ceph.label_names import short_name

PARAMETER = "topologyConstrainedPools"

T = TypeVar("T")


class DomainSegment(NamedTuple):
    label: str
    """The short name: what follows the slash in the labels of nodes."""
    value: str


class PoolKey(NamedTuple):
    cluster_id: str
    """Empty: the cluster of the class."""
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstrainedPool:
    name: str = ""
    data_pool: str = ""
    """Where the data goes if not into the pool itself: an erasure-coded pool, for example."""
    segments: tuple[DomainSegment, ...] = ()
    """Empty: near every domain."""
    cluster_id: str = ""

    @property
    def key(self) -> PoolKey:
        return PoolKey(self.cluster_id, self.name)


class _Object(list[tuple[str, Any]]):
    """The members of a JSON object in their order, also those that are there twice."""


def parse_constrained_pools(text: str) -> tuple[ConstrainedPool, ...]:
    """Raises ValueError that tells which entry is wrong, and how."""
    pools = _Reader(is_strict=True).pools(text)
    if not pools:
        raise ValueError(f"{PARAMETER} names no pool; leave it out or add one")
    for place, pool in enumerate(pools):
        _check_pool(pool, f"{PARAMETER}[{place}]")
    return tuple(replace(pool, segments=_with_short_names(pool)) for pool in pools)


def _with_short_names(pool: ConstrainedPool) -> tuple[DomainSegment, ...]:
    """Most users first write the whole name of the label."""
    return tuple(DomainSegment(short_name(label), value) for label, value in pool.segments)


def _check_pool(pool: ConstrainedPool, path: str) -> None:
    if not pool.name:
        raise ValueError(f"{path} has no poolName")
    values: dict[str, str] = {}
    for place, (label, value) in enumerate(pool.segments):
        if not short_name(label) or not value:
            raise ValueError(f"{path}.domainSegments[{place}] needs a domainLabel and a value")
        other = values.setdefault(short_name(label), value)
        if other != value:
            raise ValueError(f"{path} cannot be in {short_name(label)} {other} and {value} at once")


def compatible_pools(text: str) -> tuple[ConstrainedPool, ...]:
    """Raises ValueError where ceph-csi refuses the parameter."""
    return _Reader(is_strict=False).pools(text)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads as Go does: keys in any case, the last of several counts, null changes no text."""

    is_strict: bool

    def pools(self, text: str) -> tuple[ConstrainedPool, ...]:
        try:
            document = json.loads(
                text.replace("\n", " "), object_pairs_hook=_Object, parse_constant=_refuse_constant
            )
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{PARAMETER} is not JSON: {error}") from error
        return tuple(_items(document, PARAMETER, self._pool))

    def _pool(self, value: Any, path: str) -> ConstrainedPool:
        pool = ConstrainedPool()
        for key, item in _members(value, path):
            at = f"{path}.{key}"
            match key.casefold():
                case "poolname":
                    pool = replace(pool, name=_text(item, at, pool.name))
                case "datapool":
                    pool = replace(pool, data_pool=_text(item, at, pool.data_pool))
                case "domainsegments":
                    pool = replace(pool, segments=tuple(_items(item, at, self._segment)))
                case "clusterid" if self.is_strict:
                    pool = replace(pool, cluster_id=_text(item, at, pool.cluster_id))
                case _:
                    self._check_unknown(at, "poolName, dataPool, domainSegments, clusterID")
        return pool

    def _segment(self, value: Any, path: str) -> DomainSegment:
        segment = DomainSegment("", "")
        for key, item in _members(value, path):
            at = f"{path}.{key}"
            match key.casefold():
                case "domainlabel":
                    segment = segment._replace(label=_text(item, at, segment.label))
                case "value":
                    segment = segment._replace(value=_text(item, at, segment.value))
                case _:
                    self._check_unknown(at, "domainLabel, value")
        return segment

    def _check_unknown(self, path: str, known: str) -> None:
        """A misspelled key would leave a pool without its domain, and so near every domain."""
        if self.is_strict:
            raise ValueError(f"{path} is not known; known are {known}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value")


def _items(value: Any, path: str, read: Callable[[Any, str], T]) -> Iterator[T]:
    if value is None:
        return
    if isinstance(value, _Object) or not isinstance(value, list):
        raise ValueError(f"{path} must be a list")  # noqa: TRY004 - the text is wrong, no type
    for place, item in enumerate(value):
        yield read(item, f"{path}[{place}]")


def _members(value: Any, path: str) -> _Object:
    if value is None:
        return _Object()
    if not isinstance(value, _Object):
        raise ValueError(f"{path} must be an object")  # noqa: TRY004 - the text is wrong, no type
    return value


def _text(value: Any, path: str, before: str) -> str:
    if value is None:
        return before
    if not isinstance(value, str):
        raise ValueError(f"{path} must be a text")  # noqa: TRY004 - the text is wrong, no type
    return value
