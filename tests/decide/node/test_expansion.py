from plimsoll.api.meta import Condition
from plimsoll.api.volumes import ClaimStatus, PersistentVolumeClaim
from plimsoll.decide.node.expansion import resize_finished
from tests.builders import meta


def test_the_new_size_is_told_and_nothing_about_resizing_is_left() -> None:
    conditions = ("FileSystemResizePending", "Resizing", "ModifyingVolume")
    claim = PersistentVolumeClaim(
        metadata=meta("data", "default"),
        status=ClaimStatus(
            capacity={"storage": "1Gi"},
            conditions=tuple(Condition(type=name, status="True") for name in conditions),
            allocated_resource_statuses={"storage": "NodeResizePending"},
        ),
    )
    patch = resize_finished(claim, "2Gi")
    assert patch.subresource == "status"
    assert patch.uid == claim.uid
    assert patch.patch == {
        "status": {
            "capacity": {"storage": "2Gi"},
            "conditions": [{"type": "ModifyingVolume", "status": "True"}],
            "allocatedResourceStatuses": {"storage": None},
        }
    }
