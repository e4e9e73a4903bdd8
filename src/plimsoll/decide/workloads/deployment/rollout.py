"""How many pods each ReplicaSet of a Deployment should have while one replaces the others.

Pure arithmetic: at most `surge` more pods than wanted, at most `unavailable` fewer available ones.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from plimsoll.api.workloads import Deployment, ReplicaSet, RollingUpdate
from plimsoll.decide.workloads.availability import share_of

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
ROLLING_UPDATE = "RollingUpdate"
LONG_AGO = datetime.min.replace(tzinfo=UTC)
MAX_INT32 = 2**31 - 1

Sizes = dict[str, int]
"""ReplicaSets by name, and the number of pods each should have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fenceposts:
    wanted: int
    surge: int
    unavailable: int

    @property
    def most(self) -> int:
        return self.wanted + self.surge

    @property
    def least_available(self) -> int:
        return self.wanted - self.unavailable


def fenceposts_of(deployment: Deployment) -> Fenceposts:
    """If rounding leaves nothing to spare, one pod may be missing."""
    wanted = 1 if deployment.spec.replicas is None else deployment.spec.replicas
    if deployment.spec.strategy.type != ROLLING_UPDATE:
        return Fenceposts(wanted=wanted, surge=0, unavailable=0)
    rolling = deployment.spec.strategy.rolling_update or RollingUpdate()
    surge = share_of(wanted, rolling.max_surge, round_up=True)
    unavailable = share_of(wanted, rolling.max_unavailable, round_up=False)
    if not surge and not unavailable:
        unavailable = 1
    return Fenceposts(wanted=wanted, surge=surge, unavailable=min(unavailable, wanted))


def size_of(set_: ReplicaSet) -> int:
    return 1 if set_.spec.replicas is None else set_.spec.replicas


def total_size(sets: Iterable[ReplicaSet]) -> int:
    return sum(map(size_of, sets))


def active(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    return [set_ for set_ in sets if size_of(set_)]


def age_key(set_: ReplicaSet) -> tuple[datetime, str]:
    """Oldest first."""
    return (set_.metadata.creation_timestamp or LONG_AGO, set_.name)


def find_count(annotations: Mapping[str, str], name: str) -> int | None:
    text = annotations.get(name, "")
    if not (text.isascii() and text.isdecimal()) or int(text) > MAX_INT32:
        return None
    return int(text)


def grown_size(posts: Fenceposts, new: ReplicaSet, sets: Iterable[ReplicaSet]) -> int:
    """How far the new set may grow while all of them stay below the most."""
    addable = posts.most - total_size(sets)
    if addable <= 0:
        return size_of(new)
    return size_of(new) + min(addable, posts.wanted - size_of(new))


def shrunk_sizes(posts: Fenceposts, new: ReplicaSet, old: list[ReplicaSet]) -> Sizes:
    """What is left of the old sets: pods that do not serve go first, then as many as may."""
    sizes = {set_.name: size_of(set_) for set_ in old}
    unavailable_new = size_of(new) - new.status.available_replicas
    removable = total_size([new, *old]) - posts.least_available - unavailable_new
    if removable <= 0:
        return sizes
    oldest_first = sorted(old, key=age_key)
    for set_ in oldest_first:
        idle = min(removable, sizes[set_.name] - set_.status.available_replicas)
        if idle > 0:
            sizes[set_.name] -= idle
            removable -= idle
    available = new.status.available_replicas + sum(s.status.available_replicas for s in old)
    spare = available - posts.least_available
    for set_ in oldest_first:
        fewer = min(sizes[set_.name], max(spare, 0))
        sizes[set_.name] -= fewer
        spare -= fewer
    return sizes


def proportional_sizes(
    posts: Fenceposts, new: ReplicaSet | None, old: list[ReplicaSet], *, before: int
) -> Sizes:
    """All active sets scaled alike, the largest taking what is left over.

    `before` is the number of pods that there were, for sets that do not say for how many they were
    made.
    """
    sets = active([*old, *([new] if new is not None else [])])
    to_add = (posts.most if posts.wanted else 0) - total_size(sets)
    sets.sort(key=age_key, reverse=to_add > 0)
    sets.sort(key=size_of, reverse=True)
    added, sizes = 0, {}
    for set_ in sets:
        part = _proportion(posts, set_, to_add - added, before=before) if to_add else 0
        sizes[set_.name] = size_of(set_) + part
        added += part
    if sets and to_add:
        largest = sets[0].name
        sizes[largest] = max(sizes[largest] + to_add - added, 0)
    return sizes


def _proportion(posts: Fenceposts, set_: ReplicaSet, allowed: int, *, before: int) -> int:
    if not allowed:
        return 0
    part = _fraction(posts, set_, before=before)
    return min(part, allowed) if allowed > 0 else max(part, allowed)


def _fraction(posts: Fenceposts, set_: ReplicaSet, *, before: int) -> int:
    size = size_of(set_)
    if not posts.wanted:
        return -size
    most_before = find_count(set_.annotations, MAX_REPLICAS) or before
    if not most_before:
        return 0
    return _rounded(size * posts.most, most_before) - size


def _rounded(numerator: int, denominator: int) -> int:
    """Half away from zero."""
    return (2 * numerator + denominator) // (2 * denominator)
