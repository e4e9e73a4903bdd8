"""The index gives what a look at all volumes would give, without the look."""

from collections.abc import Iterator

import msgspec
from hypothesis import given, strategies as st

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim, VolumeStatus
from plimsoll.decide.claims.match import Search, find_first_match, is_kept_for, size_of
from plimsoll.decide.claims.volume_index import VolumeIndex
from tests.builders import a_claim, a_volume

MODES = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]
CLASSES = ["fast", "slow"]
CLAIMS = [a_claim(name) for name in ("a", "b")]


def an_index(*volumes: PersistentVolume) -> VolumeIndex:
    index = VolumeIndex()
    for volume in volumes:
        index.put(volume)
    return index


def found(index: VolumeIndex, search: Search) -> str | None:
    volume = find_first_match(search, index.candidates(search))
    return volume.name if volume else None


def test_the_smallest_that_is_large_enough_comes_first() -> None:
    index = an_index(*(a_volume(f"v{gib}", gib=gib) for gib in (50, 5, 10, 20)))
    search = Search.of(a_claim(gib=10))
    assert [volume.name for volume in index.candidates(search)] == ["v10", "v20", "v50"]


def test_rare_access_modes_are_spared_even_if_that_wastes_capacity() -> None:
    index = an_index(
        a_volume("plain", gib=50), a_volume("shared", gib=1, access_modes=MODES[:1] + MODES[2:])
    )
    assert found(index, Search.of(a_claim(gib=1))) == "plain"


def test_a_volume_kept_for_the_claim_is_found_whatever_its_class() -> None:
    claim = a_claim()
    index = an_index(a_volume("free"), a_volume("kept", class_name="slow", claim=claim.key))
    assert found(index, Search.of(claim)) == "kept"
    assert found(index, Search.of(claim, waits_for_scheduler=True)) == "kept"


def test_a_volume_that_was_taken_is_not_offered_again() -> None:
    index = an_index(a_volume("a"), a_volume("b"))
    index.put(a_volume("a", claim=a_claim("other")))
    assert found(index, Search.of(a_claim())) == "b"
    index.remove("b")
    assert found(index, Search.of(a_claim())) is None
    assert len(index) == 1
    assert index.get("a") == a_volume("a", claim=a_claim("other"))


def test_removing_what_is_not_there_is_nothing() -> None:
    index = an_index()
    index.remove("a")
    assert len(index) == 0


def in_order(volumes: dict[str, PersistentVolume], search: Search) -> Iterator[PersistentVolume]:
    """The plain version: look at all of them, in order of preference."""

    def preference(volume: PersistentVolume) -> tuple[object, ...]:
        modes = sorted(set(volume.spec.access_modes))
        is_kept = is_kept_for(volume, search.claim, search.claim_uid)
        size = (0,) if is_kept else (1, size_of(volume.spec.capacity))
        return len(modes), modes, *size, volume.name

    offering = (v for v in volumes.values() if search.access_modes.issubset(v.spec.access_modes))
    return iter(sorted(offering, key=preference))


@st.composite
def some_volume(draw: st.DrawFn) -> PersistentVolume:
    modes = draw(st.sets(st.sampled_from(MODES), min_size=1))
    claim = draw(st.none() | st.sampled_from(CLAIMS))
    volume = a_volume(
        draw(st.sampled_from("abcdefgh")),
        gib=draw(st.integers(1, 4)),
        class_name=draw(st.sampled_from(CLASSES)),
        access_modes=sorted(modes),
        claim=claim.key if claim and draw(st.booleans()) else claim,
    )
    phase = draw(st.sampled_from(["Available", "Available", "Bound", "Released", ""]))
    return msgspec.structs.replace(volume, status=VolumeStatus(phase=phase))


@st.composite
def some_claim(draw: st.DrawFn) -> PersistentVolumeClaim:
    return a_claim(
        draw(st.sampled_from(["a", "b", "c"])),
        gib=draw(st.integers(1, 4)),
        class_name=draw(st.sampled_from(CLASSES)),
        access_modes=draw(st.sets(st.sampled_from(MODES))),
    )


@given(
    changes=st.lists(some_volume() | st.sampled_from("abcdefgh"), max_size=24),
    claim=some_claim(),
    waits=st.booleans(),
)
def test_the_index_finds_what_a_look_at_all_volumes_finds(
    changes: list[PersistentVolume | str], claim: PersistentVolumeClaim, *, waits: bool
) -> None:
    index, plain = VolumeIndex(), dict[str, PersistentVolume]()
    for change in changes:
        if isinstance(change, str):
            index.remove(change)
            plain.pop(change, None)
        else:
            index.put(change)
            plain[change.name] = change
    search = Search.of(claim, waits_for_scheduler=waits)
    expected = find_first_match(search, in_order(plain, search))
    assert found(index, search) == (expected.name if expected else None)


def test_a_kept_volume_moves_between_claims() -> None:
    index = an_index(a_volume("v", claim=ObjectKey("default", "other")))
    assert found(index, Search.of(a_claim())) is None
    index.put(a_volume("v", claim=a_claim().key))
    assert found(index, Search.of(a_claim())) == "v"
    assert found(index, Search.of(a_claim("other"))) is None
