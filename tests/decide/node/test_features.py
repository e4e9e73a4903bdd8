from typing import Any

import pytest

from plimsoll.api.meta import ObjectMeta
from plimsoll.api.pods import Pod, PodSecurityContext, PodSpec
from plimsoll.api.storage import CSIDriver, CSIDriverSpec
from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.desired_volumes import CsiVolume
from plimsoll.decide.node.features import (
    AccessMode,
    NodeFeatures,
    access_mode,
    changes_only_roots,
    must_set_group,
    volume_context,
)

PLAIN, APART = NodeFeatures(), NodeFeatures(tells_writers_apart=True)


def a_volume(*modes: str, fs_type: str = "ext4", **facts: Any) -> CsiVolume:
    device = Device("disk.example.com", "a")
    return CsiVolume(name="pv", device=device, access_modes=modes, fs_type=fs_type, **facts)


def grouped(policy: str | None = None) -> Pod:
    context = PodSecurityContext(fs_group=2000, fs_group_change_policy=policy)
    return Pod(metadata=ObjectMeta(name="web"), spec=PodSpec(security_context=context))


@pytest.mark.parametrize(
    ("modes", "features", "expected"),
    [
        pytest.param((), PLAIN, AccessMode.SINGLE_NODE_WRITER, id="nothing-said"),
        pytest.param(("ReadWriteOnce",), PLAIN, AccessMode.SINGLE_NODE_WRITER, id="once"),
        pytest.param(("ReadWriteOncePod",), PLAIN, AccessMode.SINGLE_NODE_WRITER, id="old-driver"),
        pytest.param(
            ("ReadWriteOncePod",), APART, AccessMode.SINGLE_NODE_SINGLE_WRITER, id="one-pod"
        ),
        pytest.param(
            ("ReadWriteOnce",), APART, AccessMode.SINGLE_NODE_MULTI_WRITER, id="pods-of-a-node"
        ),
        pytest.param(
            ("ReadWriteMany", "ReadWriteOnce"),
            APART,
            AccessMode.MULTI_NODE_MULTI_WRITER,
            id="the-first-counts",
        ),
        pytest.param(("ReadOnlyMany",), PLAIN, AccessMode.MULTI_NODE_READER_ONLY, id="readers"),
    ],
)
def test_drivers_hear_the_mode_in_their_words(
    modes: tuple[str, ...], features: NodeFeatures, expected: AccessMode
) -> None:
    assert access_mode(a_volume(*modes), features) is expected


@pytest.mark.parametrize(
    ("policy", "volume", "expected"),
    [
        pytest.param(None, a_volume("ReadWriteOnce"), True, id="one-writer-with-file-system"),
        pytest.param(None, a_volume("ReadWriteMany"), False, id="shared"),
        pytest.param(None, a_volume("ReadWriteOnce", fs_type=""), False, id="no-file-system-named"),
        pytest.param("File", a_volume("ReadWriteMany", fs_type=""), True, id="driver-insists"),
        pytest.param("None", a_volume("ReadWriteOnce"), False, id="driver-declines"),
        pytest.param("File", a_volume(is_read_only=True), False, id="read-only"),
        pytest.param("File", a_volume(is_block=True), False, id="device"),
        pytest.param(None, a_volume(is_inline=True), True, id="inline"),
    ],
)
def test_files_are_given_to_a_group_where_that_is_wanted(
    policy: str | None, volume: CsiVolume, *, expected: bool
) -> None:
    driver = CSIDriver(spec=CSIDriverSpec(fs_group_policy=policy))
    assert must_set_group(grouped(), volume, driver, PLAIN) is expected
    assert not must_set_group(Pod(), volume, driver, PLAIN)
    assert not must_set_group(grouped(), volume, driver, NodeFeatures(sets_group=True))


def test_files_may_be_left_alone_when_the_root_is_right() -> None:
    assert changes_only_roots(grouped("OnRootMismatch"))
    assert not changes_only_roots(grouped("Always"))
    assert not changes_only_roots(Pod())


def test_a_driver_hears_about_the_pod_only_if_it_asks() -> None:
    pod = grouped()
    asks = CSIDriver(spec=CSIDriverSpec(pod_info_on_mount=True))
    assert volume_context(pod, a_volume(), None) == {}
    told = volume_context(pod, a_volume(is_inline=True), asks)
    assert told["csi.storage.k8s.io/pod.name"] == "web"
    assert told["csi.storage.k8s.io/ephemeral"] == "true"
