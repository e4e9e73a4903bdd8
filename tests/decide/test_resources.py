"""The resources that decisions write to are those that the API has."""

import pytest

from plimsoll.api.registry import resources_by_path
from plimsoll.decide.plan import ResourceName
from plimsoll.decide.resources import ATTACHMENTS, CLAIMS, NODES, PODS, VOLUMES


@pytest.mark.parametrize(
    ("resource", "kind"),
    [
        (CLAIMS, "PersistentVolumeClaim"),
        (VOLUMES, "PersistentVolume"),
        (PODS, "Pod"),
        (NODES, "Node"),
        (ATTACHMENTS, "VolumeAttachment"),
    ],
    ids=str,
)
def test_a_resource_is_that_of_its_kind(resource: ResourceName, kind: str) -> None:
    path = (resource.group, resource.version, resource.plural)
    assert resources_by_path()[path].kind == kind
