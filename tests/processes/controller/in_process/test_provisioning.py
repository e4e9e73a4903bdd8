from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    MadeVolume,
    ProvisionerError,
    ProvisionRequest,
)
from plimsoll.processes.controller.in_process.provisioning import volume_document
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.provisioners import MOODY, Moody, a_class as a_story_class, binding
from tests.builders import a_claim, a_class
from tests.processes.controller.flaky import a_flaky_cluster, creates_volume


async def test_a_volume_is_saved_when_the_server_is_back_in_time() -> None:
    moody = Moody()
    async with a_flaky_cluster(binding(moody)) as (cluster, line, _):
        line.fails = creates_volume
        await cluster.create(a_story_class(MOODY), claim())
        await cluster.wait(timedelta(seconds=25))
        assert await cluster.names("PersistentVolume") == []
        line.fails = lambda _: False
        await cluster.wait(timedelta(seconds=10))
        assert len(await cluster.names("PersistentVolume")) == 1
        assert (moody.made, moody.deleted) == (1, 0)


async def test_after_reasonable_time_the_asset_is_deleted_and_later_made_anew() -> None:
    moody = Moody()
    async with a_flaky_cluster(binding(moody)) as (cluster, line, _):
        line.fails = creates_volume
        await cluster.create(a_story_class(MOODY), claim())
        await cluster.wait(timedelta(seconds=39))
        assert moody.deleted == 0
        await cluster.wait(timedelta(seconds=2))
        assert moody.deleted == 1
        _, message = (await cluster.events("data"))[0]
        assert message == (
            "Error creating provisioned PV object for claim default/data: the answer was lost. "
            "Deleting the volume."
        )
        line.fails = lambda _: False
        await cluster.wait(timedelta(minutes=1))
        [made] = await cluster.all("PersistentVolume")
        assert made["status"]["phase"] == "Bound"
        assert len(moody.assets) == 1


async def test_a_volume_that_was_saved_although_no_answer_came_is_not_deleted() -> None:
    moody = Moody()
    async with a_flaky_cluster(binding(moody)) as (cluster, line, _):
        line.fails, line.arrives = creates_volume, True
        await cluster.create(a_story_class(MOODY), claim())
        await cluster.wait(timedelta(minutes=2))
        [made] = await cluster.all("PersistentVolume")
        assert made["status"]["phase"] == "Bound"
        assert (moody.made, moody.deleted) == (1, 0)


def a_request() -> ProvisionRequest:
    return ProvisionRequest(volume_name="pvc-1", claim=a_claim(gib=2), storage_class=a_class())


def test_a_volume_is_described_by_its_claim_its_class_and_what_was_made() -> None:
    made = MadeVolume(
        source={"nfs": {"server": "store", "path": "/1"}},
        capacity_bytes=3 << 30,
        reachable_from={"zone": ("a", "b")},
        labels={"zone": "a__b"},
    )
    assert volume_document(a_request(), made) == {
        "metadata": {"labels": {"zone": "a__b"}, "annotations": {}},
        "spec": {
            "capacity": {"storage": "3Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Delete",
            "nfs": {"server": "store", "path": "/1"},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {"key": "zone", "operator": "In", "values": ["a", "b"]}
                            ]
                        }
                    ]
                }
            },
        },
    }


def test_a_volume_smaller_than_asked_for_is_not_accepted() -> None:
    with pytest.raises(ProvisionerError, match="has 1 bytes, 2147483648 were asked for"):
        volume_document(a_request(), MadeVolume(source={}, capacity_bytes=1))


@pytest.mark.parametrize(
    ("labels", "is_accepted"),
    [({"region": "north"}, True), ({"region": "east"}, False), ({}, False)],
    ids=["what-is-selected", "another-value", "no-labels"],
)
def test_a_volume_has_the_labels_that_its_claim_selects(
    labels: dict[str, str], *, is_accepted: bool
) -> None:
    north = LabelSelectorSpec(match_labels={"region": "north"})
    claim = a_claim(gib=2)
    spec = msgspec.structs.replace(claim.spec, selector=north)
    choosy = replace(a_request(), claim=msgspec.structs.replace(claim, spec=spec))
    made = MadeVolume(source={"nfs": {}}, labels=labels)
    if is_accepted:
        assert volume_document(choosy, made)["metadata"]["labels"] == labels
    else:
        with pytest.raises(ProvisionerError, match=r"do not match claim\.spec\.selector"):
            volume_document(choosy, made)
