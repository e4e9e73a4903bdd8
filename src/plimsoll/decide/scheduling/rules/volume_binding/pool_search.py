"""Whether several volumes fit into pools at the same time: pure arithmetic on whole numbers.

Each volume has one way, or several, to take bytes of a pool: in equal shares from so many different
extents, or split over them. Up to eight volumes every combination is tried, unless that takes too
many steps; more volumes are placed one after the other, the largest first. What is found to fit
does fit; what is found not to fit could do so only beyond these limits.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

EXACT = 8
"""Volumes up to which every combination is tried."""
MOST_STEPS = 20_000
"""A search among many extents of different sizes ends here, and counts as found nothing."""


class PoolWay(NamedTuple):
    """How one volume could take its bytes from a pool."""

    pool: int
    """The number of the pool."""
    shares: int
    """From how many extents; 0: split over them in any way."""
    share: int
    """Bytes from each of these extents."""
    taken: int
    """Bytes in all."""


class PoolProblem(NamedTuple):
    """Volumes to be placed. Equal problems have equal answers."""

    ways: tuple[tuple[PoolWay, ...], ...]
    """For each volume; one without any way does not fit."""
    free: tuple[tuple[int, ...], ...]
    """By number of the pool, the free bytes of its extents, sorted."""


def do_fit(problem: PoolProblem) -> bool:
    """Whether there is a way for each volume so that all of them have their bytes."""
    volumes = sorted(problem.ways, key=_largest_part, reverse=True)
    state = tuple(_PoolState(0, extents) for extents in problem.free)
    if _fit_greedily(volumes, state):
        return True
    return len(volumes) <= EXACT and _Search(volumes).succeeds(0, state)


def _largest_part(ways: tuple[PoolWay, ...]) -> tuple[int, tuple[PoolWay, ...]]:
    """The volume that is hardest to place comes first."""
    return max((way.share for way in ways), default=0), ways


class _PoolState(NamedTuple):
    owed: int
    """To volumes that can be split: where they take it does not matter before the end."""
    extents: tuple[int, ...]


State = tuple[_PoolState, ...]


def _fit_greedily(volumes: Sequence[tuple[PoolWay, ...]], state: State) -> bool:
    for ways in volumes:
        left = next((after for way in ways for after in _placed(state, way)), None)
        if left is None:
            return False
        state = left
    return True


class _Search:
    """Depth first. What was found not to lead anywhere is not tried twice."""

    def __init__(self, volumes: Sequence[tuple[PoolWay, ...]]) -> None:
        self._volumes = volumes
        self._tried: set[tuple[int, State]] = set()

    def succeeds(self, number: int, state: State) -> bool:
        if number == len(self._volumes):
            return True
        if (number, state) in self._tried:
            return False
        self._tried.add((number, state))
        for way in self._volumes[number]:
            for left in _placed(state, way):
                if len(self._tried) >= MOST_STEPS:
                    return False
                if self.succeeds(number + 1, left):
                    return True
        return False


def _placed(state: State, way: PoolWay) -> Iterator[State]:
    """What is left after the volume took its bytes, for each different choice of extents. The first
    choice is that of a careful driver: one share goes where it leaves the least, several go where
    there is most."""
    owed, extents = state[way.pool]
    if way.shares == 0:
        owed += way.taken
        choices: Iterator[tuple[int, ...]] = iter((extents,))
    else:
        choices = _shared(extents, way)
    for left in choices:
        if sum(left) >= owed:
            yield (*state[: way.pool], _PoolState(owed, left), *state[way.pool + 1 :])


def _shared(extents: tuple[int, ...], way: PoolWay) -> Iterator[tuple[int, ...]]:
    small = tuple(size for size in extents if size < way.share)
    enough = extents[len(small) :]
    counts = sorted(Counter(enough).items(), reverse=way.shares > 1)
    for chosen in _choices(counts, way.shares):
        kept = Counter(enough) - Counter(chosen)
        yield tuple(sorted((*small, *kept.elements(), *(size - way.share for size in chosen))))


def _choices(counts: Sequence[tuple[int, int]], number: int) -> Iterator[tuple[int, ...]]:
    """So many sizes, each at most as often as it occurs; as many of the first as possible first."""
    if number == 0:
        yield ()
        return
    if sum(most for _, most in counts) < number:
        return
    (size, most), rest = counts[0], counts[1:]
    for taken in range(min(most, number), -1, -1):
        for others in _choices(rest, number - taken):
            yield (*(size,) * taken, *others)
