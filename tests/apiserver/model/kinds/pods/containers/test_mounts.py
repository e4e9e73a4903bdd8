from collections import Counter
from typing import Any

from tests.apiserver.model.kinds.pods.objects import a_container, a_pod, complaints

SCRATCH = {"name": "v", "emptyDir": {}}
CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
PATH = "spec.containers[0]"


def found(*volumes: dict[str, Any], **container: Any) -> Counter[tuple[str, str]]:
    return complaints(a_pod(containers=[a_container(**container)], volumes=list(volumes)))


def test_a_mount_needs_a_sound_volume() -> None:
    mounts = [{"name": "v", "mountPath": "/a"}]

    assert not found(SCRATCH, volumeMounts=mounts)
    assert found(volumeMounts=mounts) == {("NotFound", f"{PATH}.volumeMounts[0].name"): 1}


def test_two_mounts_cannot_share_a_path() -> None:
    mounts = [{"name": "v", "mountPath": "/a"}] * 2

    assert found(SCRATCH, volumeMounts=mounts) == {
        ("Invalid", f"{PATH}.volumeMounts[1].mountPath"): 1
    }


def test_sub_paths_stay_inside_the_volume() -> None:
    mounts = [{"name": "v", "mountPath": "/a", "subPath": "../b"}]

    assert found(SCRATCH, volumeMounts=mounts) == {("Invalid", f"{PATH}.volumeMounts.subPath"): 1}


def test_only_privileged_containers_change_mounts_of_the_host() -> None:
    mounts = [{"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}]

    assert not found(SCRATCH, volumeMounts=mounts, securityContext={"privileged": True})
    assert found(SCRATCH, volumeMounts=mounts) == {
        ("Forbidden", f"{PATH}.volumeMounts.mountPropagation"): 1
    }


def test_a_device_is_a_claim() -> None:
    devices = [{"name": "v", "devicePath": "/dev/x"}]

    assert not found(CLAIM, volumeDevices=devices)
    assert found(SCRATCH, volumeDevices=devices) == {
        ("Invalid", f"{PATH}.volumeDevices[0].name"): 1
    }


def test_a_volume_is_a_device_or_a_directory_but_not_both() -> None:
    clash = found(
        CLAIM,
        volumeDevices=[{"name": "v", "devicePath": "/x"}],
        volumeMounts=[{"name": "v", "mountPath": "/x"}],
    )

    assert clash == {
        ("Invalid", f"{PATH}.volumeMounts[0].name"): 1,
        ("Invalid", f"{PATH}.volumeMounts[0].mountPath"): 1,
        ("Invalid", f"{PATH}.volumeDevices[0].name"): 1,
        ("Invalid", f"{PATH}.volumeDevices[0].devicePath"): 1,
    }
