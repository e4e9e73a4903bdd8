"""Which domains take over which, as the config map of the driver says.

    {"version": 2, "topology-takeover": {"b": ["a", "c"], "west.d": ["all"]}, "clusters": [...]}

A domain is named by its path, or by the end of it where only one domain ends so.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plimsoll.decide.ceph.takeover.served_labels import DomainPath

VERSION = 2
TAKEOVER = "topology-takeover"
ALL = "all"
"""Every domain that is not lost itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeoverMap:
    targets_by_source: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def parse_takeover_map(text: str) -> TakeoverMap:
    """Raises ValueError. A bare list of clusters, as ceph-csi has it, names no takeover."""
    try:
        document = json.loads(text, object_pairs_hook=_unique)
    except RecursionError as error:
        raise ValueError("the config map is nested too deeply") from error
    if isinstance(document, list):
        return TakeoverMap()
    if not isinstance(document, dict):
        raise ValueError("the config map must be an object")  # noqa: TRY004 - the text is wrong
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        raise ValueError(f"version {json.dumps(version)} is not known; {VERSION} is")
    takeover = document.get(TAKEOVER, {})
    if not isinstance(takeover, dict):
        raise ValueError(f"{TAKEOVER} must be an object")  # noqa: TRY004 - the text is wrong
    return TakeoverMap(
        targets_by_source={source: _targets(source, given) for source, given in takeover.items()}
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two entries for one domain JSON would silently drop the first."""
    keys = [key for key, _ in pairs]
    for place, key in enumerate(keys):
        if key in keys[:place]:
            raise ValueError(f"{key!r} is there twice")
    return dict(pairs)


def _targets(source: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(name, str) and name for name in given):
        raise ValueError(f"{TAKEOVER}: {source!r} needs a list of domains, or [{ALL!r}]")
    if not source or not given:
        raise ValueError(f"{TAKEOVER}: {source!r} names no domain that takes over")
    if source in given:
        raise ValueError(f"{TAKEOVER}: {source!r} cannot take over itself")
    return (ALL,) if ALL in given else tuple(dict.fromkeys(given))


def with_takeover(text: str, source: str, targets: Sequence[str]) -> str:
    """The text of the map with one more entry. Raises ValueError.

    An empty text becomes a map. A list of clusters stays a list: ceph-csi could not read the other
    form.
    """
    document: Any = json.loads(text) if text else {"version": VERSION}
    if isinstance(document, list):
        raise ValueError("the config map is a list, as ceph-csi has it, and has no place for it")  # noqa: TRY004 - the text is wrong
    parse_takeover_map(json.dumps(document))
    document[TAKEOVER] = {**document.get(TAKEOVER, {}), source: [*targets]}
    return json.dumps(document, indent=2, ensure_ascii=False)


def without_takeover(text: str, source: str) -> str:
    """The text of the map without that entry. Raises ValueError."""
    parse_takeover_map(text)
    document: dict[str, Any] = json.loads(text)
    left = {name: targets for name, targets in document[TAKEOVER].items() if name != source}
    return json.dumps({**document, TAKEOVER: left}, indent=2, ensure_ascii=False)


def find_domain(name: str, known: Collection[DomainPath]) -> DomainPath | None:
    """The domain of that name; None: there is none. Raises ValueError if there are several."""
    matches = [path for path in sorted(known) if ".".join(path) == name]
    ends = [path for path in sorted(known) if ".".join(path).endswith(f".{name}")]
    found = matches or ends
    if len(found) > 1:
        raise ValueError(f"{name!r} may be {_shown(found)}; name the whole path")
    return found[0] if found else None


def _shown(paths: Sequence[DomainPath]) -> str:
    return " or ".join(".".join(path) for path in paths)
