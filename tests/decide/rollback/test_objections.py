"""Which volumes are never taken back."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from plimsoll.api.core import Node
from plimsoll.api.meta import Condition, ObjectReference
from plimsoll.api.snapshots import (
    ContentSource,
    ContentSpec,
    SnapshotSource,
    SnapshotSpec,
    VolumeSnapshot,
    VolumeSnapshotContent,
)
from plimsoll.api.storage import AttachmentSource, AttachmentSpec, VolumeAttachment
from plimsoll.api.volumes import ClaimStatus, DataSource, PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.provisioning.request.sources import CLAIM_KIND
from plimsoll.decide.rollback.objections import (
    RollbackObjection,
    RollbackView,
    find_lasting,
    find_uses,
    may_use,
)
from tests.builders import DRIVER, a_class, a_pod, meta
from tests.decide.rollback.unused import (
    NODES,
    a_consenting_class,
    a_view,
    a_waiting_pod,
    an_unused_claim,
    an_unused_volume,
    deleting,
    with_metadata,
    with_spec,
)

Pair = tuple[PersistentVolume, PersistentVolumeClaim]


def test_nothing_speaks_against_an_unused_volume_whose_class_consents() -> None:
    volume, claim = an_unused_volume(), an_unused_claim()
    assert find_lasting(volume, claim, a_consenting_class()) is None
    assert list(find_uses(volume, a_view())) == []


@pytest.mark.parametrize(
    ("storage_class", "objection"),
    [
        pytest.param(a_class(), RollbackObjection.NO_CONSENT, id="silent"),
        pytest.param(None, RollbackObjection.NO_CONSENT, id="gone"),
        pytest.param(
            with_metadata(a_class(), annotations={"plimsoll.dev/rollback": "yes"}),
            RollbackObjection.NO_CONSENT,
            id="another word",
        ),
        pytest.param(
            msgspec.structs.replace(a_consenting_class(), volume_binding_mode="Immediate"),
            RollbackObjection.BINDS_AT_ONCE,
            id="immediate",
        ),
    ],
)
def test_the_class_must_allow_it(storage_class: Any, objection: RollbackObjection) -> None:
    assert find_lasting(an_unused_volume(), an_unused_claim(), storage_class) is objection


def _changed(**spec: Any) -> Callable[[Pair], Pair]:
    return lambda pair: (with_spec(pair[0], **spec), pair[1])


def _claim(**spec: Any) -> Callable[[Pair], Pair]:
    return lambda pair: (pair[0], with_spec(pair[1], **spec))


def _status(**status: Any) -> Callable[[Pair], Pair]:
    whole = {"phase": "Bound", "capacity": {"storage": "1Gi"}} | status
    changed = ClaimStatus(**whole)
    return lambda pair: (pair[0], msgspec.structs.replace(pair[1], status=changed))


RESIZING = Condition(type="FileSystemResizePending", status="True")


@pytest.mark.parametrize(
    ("change", "objection"),
    [
        pytest.param(
            _changed(persistent_volume_reclaim_policy="Retain"),
            RollbackObjection.IS_RETAINED,
            id="policy Retain",
        ),
        pytest.param(
            lambda pair: (
                with_metadata(
                    pair[0], annotations={**pair[0].annotations, "plimsoll.dev/retained-by": "x"}
                ),
                pair[1],
            ),
            RollbackObjection.IS_RETAINED,
            id="another rollback",
        ),
        pytest.param(_changed(csi=None), RollbackObjection.NOT_MADE_FOR_CLAIM, id="no CSI volume"),
        pytest.param(
            lambda pair: (with_metadata(pair[0], annotations={}), pair[1]),
            RollbackObjection.NOT_MADE_FOR_CLAIM,
            id="made by hand",
        ),
        pytest.param(
            lambda pair: (with_metadata(pair[0], name="pvc-of-an-earlier-claim"), pair[1]),
            RollbackObjection.NOT_MADE_FOR_CLAIM,
            id="had another claim before",
        ),
        pytest.param(
            lambda pair: (
                msgspec.structs.replace(
                    pair[0], status=msgspec.structs.replace(pair[0].status, phase="Released")
                ),
                pair[1],
            ),
            RollbackObjection.NOT_BOUND,
            id="released",
        ),
        pytest.param(
            _changed(claim_ref=ObjectReference(namespace="default", name="data", uid="another")),
            RollbackObjection.NOT_BOUND,
            id="bound to a namesake",
        ),
        pytest.param(
            lambda pair: (pair[0], deleting(pair[1])),
            RollbackObjection.IS_LEAVING,
            id="claim deleted",
        ),
        pytest.param(
            lambda pair: (deleting(pair[0]), pair[1]),
            RollbackObjection.IS_LEAVING,
            id="volume deleted",
        ),
        pytest.param(
            _claim(data_source=DataSource(kind="VolumeSnapshot", name="s")),
            RollbackObjection.HAS_CONTENT,
            id="from a snapshot",
        ),
        pytest.param(
            _claim(data_source_ref=DataSource(kind="Website", name="s")),
            RollbackObjection.HAS_CONTENT,
            id="from a populator",
        ),
        pytest.param(
            _status(conditions=(RESIZING,)), RollbackObjection.IS_CHANGING, id="being resized"
        ),
        pytest.param(
            _status(capacity={"storage": "1Mi"}), RollbackObjection.IS_CHANGING, id="wants more"
        ),
        pytest.param(
            _status(allocated_resource_statuses={"storage": "NodeResizePending"}),
            RollbackObjection.IS_CHANGING,
            id="grows on its node",
        ),
        pytest.param(
            lambda pair: (
                with_metadata(pair[0], annotations={"pv.kubernetes.io/provisioned-by": DRIVER}),
                pair[1],
            ),
            RollbackObjection.DELETION_UNKNOWN,
            id="secret unknown",
        ),
        pytest.param(
            _changed(node_affinity=None), RollbackObjection.IS_PINNED_NOWHERE, id="from everywhere"
        ),
    ],
)
def test_volumes_that_may_hold_data_or_are_not_ours_to_take_are_kept(
    change: Callable[[Pair], Pair], objection: RollbackObjection
) -> None:
    volume, claim = change((an_unused_volume(), an_unused_claim()))
    assert find_lasting(volume, claim, a_consenting_class()) is objection


ON_A = a_pod("other", claims=["data"], node="node-a")
VOLUME = an_unused_volume()
TWIN = with_metadata(VOLUME, name="twin", uid="uid-twin")
ATTACHMENT = VolumeAttachment(
    metadata=meta("attached"),
    spec=AttachmentSpec(source=AttachmentSource(persistent_volume_name=VOLUME.name)),
)
SNAPSHOT = VolumeSnapshot(
    metadata=meta("s", "default"),
    spec=SnapshotSpec(source=SnapshotSource(persistent_volume_claim_name="data")),
)
CONTENT = VolumeSnapshotContent(
    metadata=meta("c"),
    spec=ContentSpec(driver=DRIVER, source=ContentSource(volume_handle=VOLUME.name)),
)
CLONE = with_spec(an_unused_claim("copy"), data_source=DataSource(kind=CLAIM_KIND, name="data"))
FAR_CLONE = with_spec(
    with_metadata(an_unused_claim("copy"), namespace="far"),
    data_source_ref=DataSource(kind=CLAIM_KIND, name="data", namespace="default"),
)


@pytest.mark.parametrize(
    ("view", "objection"),
    [
        pytest.param(a_view(pods=[ON_A]), RollbackObjection.ON_A_NODE, id="pod"),
        pytest.param(
            a_view(attachments=[ATTACHMENT]), RollbackObjection.IS_ATTACHED, id="attachment"
        ),
        pytest.param(a_view(snapshots=[SNAPSHOT]), RollbackObjection.HAS_SNAPSHOT, id="snapshot"),
        pytest.param(a_view(contents=[CONTENT]), RollbackObjection.HAS_SNAPSHOT, id="content"),
        pytest.param(a_view(claims=[CLONE]), RollbackObjection.HAS_CLONE, id="clone"),
        pytest.param(
            a_view(volumes=[VOLUME, TWIN]), RollbackObjection.HAS_TWIN, id="another volume object"
        ),
        pytest.param(a_view(claims=[FAR_CLONE]), RollbackObjection.HAS_CLONE, id="clone elsewhere"),
    ],
)
def test_whatever_names_the_volume_or_its_claim_keeps_it(
    view: RollbackView, objection: RollbackObjection
) -> None:
    assert list(find_uses(VOLUME, view)) == [objection]


@pytest.mark.parametrize(
    ("node", "nodes", "may"),
    [
        pytest.param("", NODES, False, id="without a node"),
        pytest.param("node-a", NODES, True, id="on a node that reaches it"),
        pytest.param("node-b", NODES, False, id="on a node that does not"),
        pytest.param("node-x", NODES, True, id="on a node that is not known"),
    ],
)
def test_only_a_pod_on_a_node_that_reaches_the_volume_can_have_used_it(
    node: str, nodes: dict[str, Node], *, may: bool
) -> None:
    pod = with_spec(a_waiting_pod(), node_name=node)
    assert may_use(pod, VOLUME, nodes) is may
    assert not may_use(with_metadata(pod, namespace="another"), VOLUME, nodes)
