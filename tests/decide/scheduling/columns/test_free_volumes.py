from hypothesis import given, strategies as st

from plimsoll.api.quantity import parse_quantity
from plimsoll.decide.claims.volumes_by_size import SizedVolume
from plimsoll.decide.scheduling.columns.free_volumes import FreeVolumes

PLACES = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 6)), max_size=12).map(
    lambda found: [(seg, SizedVolume(size, f"v{i}")) for i, (seg, size) in enumerate(found)]
)


@given(
    places=PLACES,
    rank=st.integers(0, 7),
    taken=st.sets(st.integers(0, 11)),
    gone=st.sets(st.integers(0, 11)),
)
def test_the_smallest_that_is_large_enough_and_left_is_found(
    places: list[tuple[int, SizedVolume]], rank: int, taken: set[int], gone: set[int]
) -> None:
    free_volumes = FreeVolumes()
    for segment, place in places:
        free_volumes.add(segment, place)
    left = [each for number, each in enumerate(places) if number not in gone]
    for number, (segment, place) in enumerate(places):
        if number in gone:
            free_volumes.take(segment, place)
    names = {f"v{number}" for number in taken}

    fitting = sorted(p for segment, p in left if segment in (0, 1) and p.rank >= rank)

    assert free_volumes.fitting([0, 1], rank) == fitting
    expected = next((place for place in fitting if place.name not in names), None)
    assert free_volumes.find([0, 1], rank, names) == expected
    sizes = sorted(place.rank for _, place in left if place.rank >= rank)
    assert free_volumes.next_size(rank) == (sizes[0] if sizes else None)


def test_sizes_are_told_apart_to_the_last_fraction() -> None:
    sizes = ["1500m", "1501m", "1.6", "2", "1Ki", "1025"]
    ranks = [parse_quantity(text).rank for text in sizes]

    assert ranks == sorted(set(ranks))
    assert parse_quantity("1Gi").rank == 2**30 * 10**9
