from collections.abc import Mapping
from dataclasses import replace

import pytest

from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.provisioning.failures import Problem, ProvisioningState, RefusalError
from plimsoll.decide.provisioning.request.parameters import (
    driver_parameters,
    file_system,
    metadata_parameters,
)
from tests.decide.provisioning.builders import SETTINGS, a_claim_document

EXT4 = replace(SETTINGS, default_fs_type="ext4")


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        pytest.param({}, "ext4", id="default"),
        pytest.param({"fstype": "xfs"}, "xfs", id="old-key"),
        pytest.param({"FsType": "xfs"}, "xfs", id="old-key-in-any-case"),
        pytest.param({"csi.storage.k8s.io/fstype": "xfs"}, "xfs", id="new-key"),
        pytest.param({"csi.storage.k8s.io/fstype": ""}, "ext4", id="empty-is-not-given"),
    ],
)
def test_the_class_chooses_the_file_system_before_the_provisioner(
    parameters: Mapping[str, str], expected: str
) -> None:
    assert file_system(parameters, EXT4) == expected


def test_a_file_system_that_is_given_twice_is_refused() -> None:
    with pytest.raises(RefusalError) as refusal:
        file_system({"fstype": "xfs", "csi.storage.k8s.io/fstype": "xfs"}, SETTINGS)

    assert refusal.value.failure.problem is Problem.FS_TYPE_TWICE


def test_the_driver_gets_all_but_the_reserved_parameters() -> None:
    parameters = {
        "pool": "fast",
        "fstype": "xfs",
        "csiNodeStageSecretName": "old",
        "csi.storage.k8s.io/fstype": "xfs",
        "csi.storage.k8s.io/node-expand-secret-name": "admin",
        "csi.storage.k8s.io/secret-namespace": "vault",
    }

    assert driver_parameters(parameters) == {
        "pool": "fast",
        "fstype": "xfs",
        "csiNodeStageSecretName": "old",
    }


@pytest.mark.parametrize("key", ["typo", "pvc/name", "snapshotter-secret-name"])
def test_an_unknown_reserved_parameter_is_refused_for_good(key: str) -> None:
    with pytest.raises(RefusalError, match=key) as refusal:
        driver_parameters({f"csi.storage.k8s.io/{key}": "x"})

    assert refusal.value.failure.state is ProvisioningState.FINISHED


def test_metadata_names_claim_and_volume() -> None:
    claim = from_document(PersistentVolumeClaim, a_claim_document())

    assert metadata_parameters(claim, "pvc-1") == {
        "csi.storage.k8s.io/pvc/name": "data",
        "csi.storage.k8s.io/pvc/namespace": "default",
        "csi.storage.k8s.io/pv/name": "pvc-1",
    }
