"""What the run that kills a cluster at random takes for a leak, for a known one, and for growth."""

from dataclasses import replace

import pytest
from conformance.kills.end import Asset, known_leaks
from conformance.kills.soak import MEBIBYTE, is_flat, warm_halves

from plimsoll.api.meta import ObjectMeta
from plimsoll.api.volumes import CsiSource, PersistentVolume, PersistentVolumeClaim, VolumeSpec

LEAK = Asset("local.plimsoll.dev", "volume", "local-1", "pvc-1", "Ready")
CLAIM = PersistentVolumeClaim(metadata=ObjectMeta(namespace="default", name="data", uid="1"))


def a_volume(name: str, handle: str) -> PersistentVolume:
    source = CsiSource(driver=LEAK.driver, volume_handle=handle)
    return PersistentVolume(metadata=ObjectMeta(name=name), spec=VolumeSpec(csi=source))


def test_a_volume_whose_claim_is_gone_and_that_no_object_names_is_a_known_leak() -> None:
    assert known_leaks([LEAK], [], [a_volume("pvc-2", "local-2")]) == [LEAK]


@pytest.mark.parametrize(
    ("asset", "claims", "volumes"),
    [
        pytest.param(LEAK, [CLAIM], [], id="its-claim-is-there"),
        pytest.param(LEAK, [], [a_volume("pvc-1", "")], id="an-object-has-its-name"),
        pytest.param(LEAK, [], [a_volume("other", "local-1")], id="an-object-names-its-handle"),
        pytest.param(replace(LEAK, kind="snapshot"), [], [], id="a-snapshot"),
        pytest.param(replace(LEAK, name="mine"), [], [], id="not-made-for-a-claim"),
    ],
)
def test_anything_else_that_is_left_is_a_leak_that_fails_the_run(
    asset: Asset, claims: list[PersistentVolumeClaim], volumes: list[PersistentVolume]
) -> None:
    assert known_leaks([asset], claims, volumes) == []


def test_memory_that_rises_all_the_time_is_not_flat() -> None:
    rising = [(60 + second) * MEBIBYTE for second in range(60)]
    assert not is_flat(*warm_halves(rising))


def test_a_warm_up_and_single_peaks_are_no_growth() -> None:
    warming = [second * MEBIBYTE for second in range(20)]
    steady = [70 * MEBIBYTE, 71 * MEBIBYTE, 300 * MEBIBYTE, 69 * MEBIBYTE] * 10
    assert is_flat(*warm_halves(warming + steady))
