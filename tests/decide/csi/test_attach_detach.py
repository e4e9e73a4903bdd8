"""When a device is attached, refused, kept and detached."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.core import AttachedVolume, Node, Taint
from plimsoll.api.meta import Condition, ObjectMeta
from plimsoll.api.pods import ContainerStatus, EphemeralVolume, Pod, PodStatus, PodVolume
from plimsoll.api.storage import (
    AttachmentSource,
    AttachmentSpec,
    AttachmentStatus,
    CSIDriver,
    CSIDriverSpec,
    VolumeAttachment,
    VolumeError,
)
from plimsoll.api.volumes import ClaimStatus
from plimsoll.decide.csi.attach_detach import (
    AttachmentSite,
    WantedAttachment,
    decide_attachments,
    is_bound_pair,
    is_forced,
    needs_attaching,
    uses_claim,
    wants_volumes,
)
from plimsoll.decide.csi.devices import Device
from plimsoll.decide.plan import NOTHING, Create, Delete, Emit, Patch, Plan
from plimsoll.decide.resources import ATTACHMENTS
from tests.builders import DRIVER, a_claim, a_node, a_pod, a_volume

AT = datetime(2024, 1, 1, tzinfo=UTC)
DEVICE = Device(DRIVER, "volume-1")
WANTED = WantedAttachment.volume(DEVICE, a_volume())
SHARED = WantedAttachment.volume(DEVICE, a_volume(access_modes=["ReadWriteMany"]))
SIX_MINUTES = timedelta(minutes=6)


def a_site_node(
    name: str = "node-1",
    *,
    in_use: bool = False,
    listed: bool = False,
    ready: bool = True,
    taints: Iterable[Taint] = (),
) -> Node:
    node = a_node(name, taints=taints)
    status = msgspec.structs.replace(
        node.status,
        conditions=(Condition(type="Ready", status="True" if ready else "Unknown"),),
        volumes_in_use=(DEVICE.unique_name,) if in_use else (),
        volumes_attached=(AttachedVolume(name="kept"),)
        + ((AttachedVolume(name=DEVICE.unique_name),) if listed else ()),
    )
    return msgspec.structs.replace(node, status=status)


def an_attachment(
    node: str = "node-1", *, attached: bool = True, deleted: bool = False, error: str = ""
) -> VolumeAttachment:
    name = DEVICE.attachment_name(node)
    return VolumeAttachment(
        metadata=ObjectMeta(
            name=name, uid=f"uid-{name}", deletion_timestamp=AT if deleted else None
        ),
        spec=AttachmentSpec(
            attacher=DRIVER,
            node_name=node,
            source=AttachmentSource(persistent_volume_name="volume-1"),
        ),
        status=AttachmentStatus(
            attached=attached, attach_error=VolumeError(message=error) if error else None
        ),
    )


def a_site(
    name: str = "node-1",
    *,
    node: Node | None = None,
    pods: Iterable[Pod] = (),
    attachment: VolumeAttachment | None = None,
    unwanted_for: timedelta = timedelta(),
) -> AttachmentSite:
    return AttachmentSite(
        name=name,
        node=node or a_site_node(name),
        pods=tuple(pods),
        attachment=attachment,
        unwanted_for=unwanted_for,
    )


def events(plan: Plan) -> list[str]:
    return [write.message for write in plan.writes if isinstance(write, Emit)]


def kinds(plan: Plan) -> list[type]:
    return [type(write) for write in plan.writes]


def test_a_wanted_device_gets_an_attachment() -> None:
    (create,) = decide_attachments(WANTED, [a_site(pods=[a_pod(node="node-1")])]).writes
    assert isinstance(create, Create)
    assert create.document == {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": DEVICE.attachment_name("node-1")},
        "spec": {
            "attacher": DRIVER,
            "nodeName": "node-1",
            "source": {"persistentVolumeName": "volume-1"},
        },
    }


def test_nothing_is_attached_to_a_node_that_is_not_known() -> None:
    site = AttachmentSite(name="node-1", pods=(a_pod(node="node-1"),))
    assert decide_attachments(WANTED, [site]) is NOTHING


def test_when_it_is_attached_the_node_is_told_and_then_the_pods() -> None:
    pods = [a_pod("b", node="node-1"), a_pod("a", node="node-1")]
    site = a_site(pods=pods, attachment=an_attachment())
    plan = decide_attachments(WANTED, [site])
    patch = plan.writes[0]
    assert isinstance(patch, Patch)
    assert patch.subresource == "status"
    assert [v["name"] for v in patch.patch["status"]["volumesAttached"]] == [
        "kept",
        DEVICE.unique_name,
    ]
    assert events(plan) == ['AttachVolume.Attach succeeded for volume "volume-1" '] * 2
    told = a_site(pods=pods, attachment=an_attachment(), node=a_site_node(listed=True))
    assert decide_attachments(WANTED, [told]) is NOTHING


def test_a_failure_of_the_attacher_is_told_to_the_pods() -> None:
    failed = an_attachment(attached=False, error="no such disk")
    plan = decide_attachments(WANTED, [a_site(pods=[a_pod(node="node-1")], attachment=failed)])
    assert events(plan) == ['AttachVolume.Attach failed for volume "volume-1" : no such disk']


@pytest.mark.parametrize(
    ("pods", "explanation"),
    [
        pytest.param(
            [],
            "Volume is already exclusively attached to one node and can't be attached to another",
            id="no-pod-uses-it-any-more",
        ),
        pytest.param(
            [a_pod("b", node="node-1"), a_pod("a", node="node-1")],
            "Volume is already used by pod(s) a, b",
            id="pods-of-the-same-namespace",
        ),
        pytest.param(
            [a_pod("a", node="node-1", namespace="x"), a_pod("b", node="node-1")],
            "Volume is already used by pod(s) b and 1 pod(s) in different namespaces",
            id="some-elsewhere",
        ),
        pytest.param(
            [a_pod("a", node="node-1", namespace="x")],
            "Volume is already used by 1 pod(s) in different namespaces",
            id="all-elsewhere",
        ),
    ],
)
def test_a_second_node_has_to_wait_and_its_pods_are_told_why(
    pods: list[Pod], explanation: str
) -> None:
    holder = a_site(
        pods=pods,
        attachment=an_attachment(),
        node=a_site_node(in_use=True, listed=True),
    )
    second = a_site("node-2", pods=[a_pod("late", node="node-2")])
    plan = decide_attachments(WANTED, [holder, second])
    assert events(plan) == [f'Multi-Attach error for volume "volume-1" {explanation}']
    assert Create not in kinds(plan)
    shared = decide_attachments(SHARED, [holder, second])
    assert Create in kinds(shared)


@pytest.mark.parametrize(
    "elsewhere",
    [
        pytest.param(an_attachment(attached=False), id="not-attached-yet"),
        pytest.param(an_attachment(deleted=True), id="being-detached"),
    ],
)
def test_a_device_for_one_node_waits_until_no_other_attachment_is_left(
    elsewhere: VolumeAttachment,
) -> None:
    first = a_site(attachment=elsewhere, node=a_site_node(in_use=True))
    second = a_site("node-2", pods=[a_pod("late", node="node-2")])
    assert decide_attachments(WANTED, [first, second]).writes == ()


def test_of_two_nodes_the_one_whose_pod_was_there_first_gets_it() -> None:
    def pod(name: str, node: str, minute: int) -> Pod:
        made = a_pod(name, node=node)
        created = AT + timedelta(minutes=minute)
        metadata = msgspec.structs.replace(made.metadata, creation_timestamp=created)
        return msgspec.structs.replace(made, metadata=metadata)

    sites = [
        a_site("node-1", pods=[pod("late", "node-1", 5)]),
        a_site("node-2", pods=[pod("early", "node-2", 1)]),
    ]
    (create,) = decide_attachments(WANTED, sites).writes
    assert isinstance(create, Create)
    assert create.document["spec"]["nodeName"] == "node-2"


def test_an_unwanted_device_leaves_the_nodes_list_and_then_the_node() -> None:
    site = a_site(attachment=an_attachment(), node=a_site_node(listed=True))
    patch, delete = decide_attachments(WANTED, [site]).writes
    assert isinstance(patch, Patch)
    assert [v["name"] for v in patch.patch["status"]["volumesAttached"]] == ["kept"]
    name = DEVICE.attachment_name("node-1")
    assert delete == Delete(resource=ATTACHMENTS, key=an_attachment().key, uid=f"uid-{name}")


TAINT = Taint(key="node.kubernetes.io/out-of-service", effect="NoExecute")


@pytest.mark.parametrize(
    ("site", "is_detached", "recheck"),
    [
        pytest.param(
            a_site(node=a_site_node(in_use=True), unwanted_for=SIX_MINUTES * 10),
            False,
            None,
            id="a-healthy-node-may-take-its-time",
        ),
        pytest.param(
            a_site(node=a_site_node(in_use=True, ready=False), unwanted_for=SIX_MINUTES / 2),
            False,
            SIX_MINUTES / 2,
            id="a-broken-node-is-waited-for",
        ),
        pytest.param(
            a_site(node=a_site_node(in_use=True, ready=False), unwanted_for=SIX_MINUTES),
            True,
            None,
            id="but-not-for-ever",
        ),
        pytest.param(
            a_site(node=a_site_node(in_use=True, ready=False, taints=[TAINT])),
            True,
            None,
            id="the-node-is-out-of-service",
        ),
        pytest.param(a_site(node=a_site_node()), True, None, id="not-in-use"),
        pytest.param(AttachmentSite(name="node-1"), False, SIX_MINUTES, id="a-node-that-is-gone"),
        pytest.param(
            AttachmentSite(name="node-1", unwanted_for=SIX_MINUTES), True, None, id="gone-for-long"
        ),
    ],
)
def test_when_an_unwanted_device_is_detached(
    site: AttachmentSite, *, is_detached: bool, recheck: timedelta | None
) -> None:
    site = AttachmentSite(
        name=site.name,
        node=site.node,
        attachment=an_attachment(),
        unwanted_for=site.unwanted_for,
    )
    plan = decide_attachments(WANTED, [site])
    assert (Delete in kinds(plan)) == is_detached
    assert plan.recheck_after == recheck
    if is_detached:
        assert is_forced(DEVICE, site) == site.reports_use(DEVICE)


def test_an_attachment_by_another_name_is_not_ours_to_delete() -> None:
    foreign = an_attachment()
    metadata = msgspec.structs.replace(foreign.metadata, name="mine")
    site = a_site(attachment=msgspec.structs.replace(foreign, metadata=metadata))
    assert decide_attachments(WANTED, [site]) is NOTHING


def test_a_node_that_lists_what_is_gone_is_corrected() -> None:
    (patch,) = decide_attachments(WANTED, [a_site(node=a_site_node(listed=True))]).writes
    assert isinstance(patch, Patch)


RUNNING = PodStatus(phase="Running", container_statuses=(ContainerStatus(name="main"),))


@pytest.mark.parametrize(
    ("pod", "wants"),
    [
        pytest.param(a_pod(node="node-1"), True, id="on-a-node"),
        pytest.param(a_pod(), False, id="not-scheduled"),
        pytest.param(
            msgspec.structs.replace(a_pod(node="node-1"), status=PodStatus(phase="Succeeded")),
            False,
            id="finished",
        ),
    ],
)
def test_a_pod_wants_its_volumes_on_its_node_until_it_has_ended(pod: Pod, *, wants: bool) -> None:
    assert wants_volumes(pod) is wants


def test_a_pod_being_deleted_wants_its_volumes_while_it_has_containers() -> None:
    pod = a_pod(node="node-1")
    metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=AT)
    ending = msgspec.structs.replace(pod, metadata=metadata)
    assert not wants_volumes(ending)
    assert wants_volumes(msgspec.structs.replace(ending, status=RUNNING))


def test_a_driver_says_whether_its_volumes_are_attached_and_without_it_they_are() -> None:
    def driver(*, required: bool | None) -> CSIDriver:
        return CSIDriver(spec=CSIDriverSpec(attach_required=required))

    assert needs_attaching(None)
    assert needs_attaching(driver(required=None))
    assert needs_attaching(driver(required=True))
    assert not needs_attaching(driver(required=False))


def test_a_claim_counts_only_if_both_sides_agree_and_it_is_the_pods_own() -> None:
    claim = msgspec.structs.replace(a_claim(volume="volume-1"), status=ClaimStatus(phase="Bound"))
    assert is_bound_pair(claim, a_volume(claim=claim))
    assert not is_bound_pair(claim, a_volume(claim=claim.key))
    assert not is_bound_pair(a_claim(volume="volume-1"), a_volume(claim=claim))
    assert uses_claim(a_pod(claims=["data"]), claim)
    pod = a_pod()
    scratch = PodVolume(name="x", ephemeral=EphemeralVolume())
    pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, volumes=(scratch,)))
    assert not uses_claim(pod, a_claim("web-0-x"))


SITES = st.lists(
    st.builds(
        lambda number, wanted, attachment, node, minutes: AttachmentSite(
            name=f"node-{number}",
            node=node
            and msgspec.structs.replace(
                node, metadata=ObjectMeta(name=f"node-{number}", uid=f"n{number}")
            ),
            pods=(a_pod(f"pod-{number}", node=f"node-{number}"),) if wanted else (),
            attachment=attachment and an_attachment(f"node-{number}", **attachment),
            unwanted_for=timedelta(minutes=minutes),
        ),
        st.integers(0, 4),
        st.booleans(),
        st.one_of(
            st.none(), st.fixed_dictionaries({"attached": st.booleans(), "deleted": st.booleans()})
        ),
        st.one_of(
            st.none(),
            st.builds(a_site_node, in_use=st.booleans(), listed=st.booleans(), ready=st.booleans()),
        ),
        st.integers(0, 10),
    ),
    max_size=4,
    unique_by=lambda site: site.name,
)


@given(sites=SITES)
def test_a_device_for_one_node_never_gets_a_second_attachment_nor_loses_one_in_use(
    sites: list[AttachmentSite],
) -> None:
    plan = decide_attachments(WANTED, sites)
    by_name = {DEVICE.attachment_name(site.name): site for site in sites}
    created = [by_name[w.key.name] for w in plan.writes if isinstance(w, Create)]
    deleted = [by_name[w.key.name] for w in plan.writes if isinstance(w, Delete)]
    assert len(created) <= 1
    if created:
        assert not any(site.attachment for site in sites)
        assert created[0].pods
    for site in deleted:
        assert not site.pods
        assert not site.reports_use(DEVICE) or (site.is_broken and site.unwanted_for >= SIX_MINUTES)
