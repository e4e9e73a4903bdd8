from typing import Any

import pytest

from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.kinds.pods.volumes.sources import SOURCES
from tests.apiserver.model.kinds.pods.objects import causes


def test_every_source_that_the_api_has_is_checked() -> None:
    known = definitions().schemas["io.k8s.api.core.v1.Volume"]["properties"]

    assert set(SOURCES) == set(known) - {"name"}


@pytest.mark.parametrize(
    ("name", "source", "refused"),
    [
        ("iscsi", {"targetPortal": "p", "iqn": "x", "lun": 0}, ("Invalid", "s.iqn")),
        ("iscsi", {"targetPortal": "p", "lun": 0}, ("Required", "s.iqn")),
        ("cinder", {"volumeID": "v", "secretRef": {}}, ("Required", "s.secretRef.name")),
        ("storageos", {"volumeName": "A"}, ("Invalid", "s.volumeName")),
        (
            "csi",
            {"driver": "d", "nodePublishSecretRef": {}},
            ("Required", "s.nodePublishSecretRef.name"),
        ),
        ("image", {"pullPolicy": "X"}, ("NotSupported", "s.pullPolicy")),
        ("gitRepo", {"repository": "r", "directory": "/x"}, ("Invalid", "s.directory")),
    ],
)
def test_a_source_with_one_fault_is_refused_for_it_alone(
    name: str, source: dict[str, Any], refused: tuple[str, str]
) -> None:
    assert causes(SOURCES[name](source, "s")) == {refused: 1}
