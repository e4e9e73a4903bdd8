from typing import Any

import pytest

from tests.apiserver.model.kinds.pods.objects import a_pod, complaints

CLAIM_SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def ephemeral(**template: Any) -> dict[str, Any]:
    return {"ephemeral": {"volumeClaimTemplate": {"spec": CLAIM_SPEC} | template}}


@pytest.mark.parametrize(
    "source",
    [
        {"emptyDir": {"sizeLimit": "1Gi"}},
        {"hostPath": {"path": "/x"}},
        {"persistentVolumeClaim": {"claimName": "c"}},
        {"csi": {"driver": "d.example.com"}},
        {"nfs": {"server": "s", "path": "/p"}},
        {"iscsi": {"targetPortal": "p", "iqn": "iqn.2015-02.example.com:t", "lun": 0}},
        {"image": {"reference": "quay.io/a/b:v1"}},
        ephemeral(),
        {},
    ],
    ids=lambda source: next(iter(source), "none"),
)
def test_a_sound_volume_is_accepted(source: dict[str, Any]) -> None:
    assert not complaints(a_pod(volumes=[{"name": "v"} | source]))


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        pytest.param(
            {"emptyDir": {}, "hostPath": {"path": "/"}}, ("Forbidden", "hostPath"), id="two-sources"
        ),
        pytest.param(
            {"emptyDir": {"sizeLimit": "-1"}}, ("Forbidden", "emptyDir.sizeLimit"), id="e"
        ),
        pytest.param({"configMap": {}}, ("Required", "configMap.name"), id="config-map"),
        pytest.param(
            {"configMap": {"name": "c", "defaultMode": 4096}},
            ("Invalid", "configMap.defaultMode"),
            id="mode",
        ),
        pytest.param(
            {"secret": {"secretName": "s", "items": [{"key": "k", "path": "../x"}]}},
            ("Invalid", "secret.items[0].path"),
            id="file-outside",
        ),
        pytest.param({"csi": {}}, ("Required", "csi.driver"), id="csi"),
        pytest.param(
            {"gcePersistentDisk": {}}, ("Required", "persistentDisk.pdName"), id="odd-path-of-disks"
        ),
        pytest.param({"ephemeral": {}}, ("Required", "ephemeral.volumeClaimTemplate"), id="no-t"),
        pytest.param(
            ephemeral(metadata={"name": "x"}),
            ("Forbidden", "ephemeral.volumeClaimTemplate.metadata.name"),
            id="template-with-a-name",
        ),
        pytest.param(
            ephemeral(spec={"resources": CLAIM_SPEC["resources"]}),
            ("Required", "ephemeral.volumeClaimTemplate.spec.accessModes"),
            id="template-with-a-fault",
        ),
        pytest.param(
            {"downwardAPI": {"items": [{"path": "l"}]}}, ("Required", "downwardAPI"), id="downward"
        ),
    ],
)
def test_a_volume_with_one_fault_is_refused_for_it_alone(
    source: dict[str, Any], refused: tuple[str, str]
) -> None:
    reason, field = refused

    found = complaints(a_pod(volumes=[{"name": "v"} | source]))

    assert found == {(reason, f"spec.volumes[0].{field}"): 1}


def test_names_of_volumes_are_unique() -> None:
    volumes = [{"name": "v", "emptyDir": {}}] * 2

    assert complaints(a_pod(volumes=volumes)) == {("Duplicate", "spec.volumes[1].name"): 1}


def test_a_claim_made_for_the_pod_cannot_be_used_as_if_it_were_foreign() -> None:
    volumes = [
        {"name": "v"} | ephemeral(),
        {"name": "w", "persistentVolumeClaim": {"claimName": "web-v"}},
    ]

    assert complaints(a_pod(volumes=volumes)) == {
        ("Invalid", "spec.volumes[1].persistentVolumeClaim.claimName"): 1
    }


def test_files_of_a_projected_volume_may_not_collide() -> None:
    one = {"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}
    volumes = [{"name": "v", "projected": {"sources": [one, one]}}]

    assert complaints(a_pod(volumes=volumes)) == {("Invalid", "spec.volumes[0].projected"): 1}
