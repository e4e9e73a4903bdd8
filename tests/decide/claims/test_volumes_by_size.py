from hypothesis import given, strategies as st

from plimsoll.decide.claims.volumes_by_size import SizedVolume, VolumesBySize

VOLUMES = st.lists(
    st.builds(SizedVolume, st.integers(1, 5), st.sampled_from("abcdef")), unique=True
)


@given(volumes=VOLUMES, gone=st.sets(st.integers(0, 5)), rank=st.integers(0, 6), data=st.data())
def test_the_smallest_that_is_large_enough_comes_first(
    volumes: list[SizedVolume], gone: set[int], rank: int, data: st.DataObject
) -> None:
    by_size = VolumesBySize()
    for volume in volumes:
        by_size.add(volume)
    for number, volume in enumerate(volumes):
        if number in gone:
            by_size.remove(volume)
    left = sorted(volume for number, volume in enumerate(volumes) if number not in gone)
    taken = data.draw(st.sets(st.sampled_from("abcdef")))

    fitting = [volume for volume in left if volume.rank >= rank]

    assert len(by_size) == len(left)
    assert [*by_size.from_size(rank)] == fitting
    expected = next((volume for volume in fitting if volume.name not in taken), None)
    assert by_size.find(rank, taken) == expected


def test_a_fork_changes_alone() -> None:
    by_size = VolumesBySize()
    by_size.add(SizedVolume(1, "a"))
    fork = by_size.fork()
    fork.remove(SizedVolume(1, "a"))

    assert (len(by_size), len(fork)) == (1, 0)
