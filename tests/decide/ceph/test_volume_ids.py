import pytest
from hypothesis import given, strategies as st

from plimsoll.decide.ceph.volume_ids import (
    CephVolumeId,
    compose_volume_id,
    decompose_volume_id,
    parse_pool_id,
    pool_id_digits,
)

UUID = "c6f23807-0e57-0532-de2d-2cd988ae21b1"
PLAIN = f"0001-0009-rook-ceph-0000000000000007-{UUID}"


def test_an_id_is_composed_of_version_length_cluster_pool_and_uuid() -> None:
    volume = CephVolumeId(cluster_id="rook-ceph", pool_id=7, uuid=UUID)
    assert compose_volume_id(volume) == PLAIN


@given(
    cluster=st.text(st.characters(codec="utf-8"), max_size=16),
    pool=st.integers(-(1 << 63), (1 << 63) - 1),
)
def test_what_is_composed_is_decomposed_again(cluster: str, pool: int) -> None:
    volume = CephVolumeId(cluster_id=cluster, pool_id=pool, uuid=UUID)
    assert decompose_volume_id(compose_volume_id(volume)) == volume


@pytest.mark.parametrize(
    ("cluster", "uuid", "complaint"),
    [
        pytest.param("x" * 65, UUID, "at most 64 fit", id="long-cluster"),
        pytest.param("é" * 33, UUID, "66 bytes", id="bytes-count-not-characters"),
        pytest.param("c1", "short", "is no uuid", id="short-uuid"),
    ],
)
def test_parts_that_do_not_fit_are_refused(cluster: str, uuid: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        compose_volume_id(CephVolumeId(cluster_id=cluster, pool_id=1, uuid=uuid))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("csi-rbd-vol-1", id="of-another-driver"),
        pytest.param(PLAIN + "x", id="too-long"),
        pytest.param(PLAIN.replace("-0009-", "-ffff-"), id="a-length-that-wraps"),
        pytest.param(PLAIN.replace("0001-", "zzzz-"), id="no-version"),
        pytest.param(PLAIN.replace("0000000000000007", "000000000000000g"), id="no-pool"),
    ],
)
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no|too short"):
        decompose_volume_id(text)


def test_ids_of_pools_are_kept_in_two_s_complement() -> None:
    assert pool_id_digits(-1) == "f" * 16
    assert parse_pool_id("8000000000000005") == 5 - (1 << 63)


@pytest.mark.parametrize("text", ["", "zz", "07", "0x00000000000007", "00 0000000000000"])
def test_what_is_no_pool_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no id of a pool"):
        parse_pool_id(text)
