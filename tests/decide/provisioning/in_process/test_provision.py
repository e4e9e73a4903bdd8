"""Who makes a volume for a claim, and what is written about it."""

import msgspec
import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import DataSource, PersistentVolumeClaim
from plimsoll.decide.annotations import (
    BETA_STORAGE_PROVISIONER,
    BOUND_BY_CONTROLLER,
    INTERNAL_DELETION,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
)
from plimsoll.decide.claims.operations import Failed, Provision, Provisioned, RefuseClaim, Refused
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.plan import Create, Emit, Plan
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.in_process.provision import (
    after_provision,
    after_saved,
    after_unsaved,
    decide_provision,
)
from tests.builders import DRIVER, a_claim, a_class, a_node
from tests.decide.claims.builders import a_world, annotated_claim, events, the_claim, the_volume
from tests.decide.claims.world import CLAIM, Plugin, look_after

KEY = ObjectKey("default", "data")
OURS = Plugin({"provision": "ok", "delete": "ok", "recycle": "ok"}, name="host-path")
CLASS = a_class(provisioner="host-path", binding_mode="Immediate")
NAME = "pvc-uid-default-data"


def test_an_external_provisioner_is_named_in_both_annotations_and_told_to_the_user() -> None:
    world = a_world(a_claim(), a_class(binding_mode="Immediate"))
    look_after(world, CLAIM, KEY)
    annotations = the_claim(world).annotations
    assert annotations == {STORAGE_PROVISIONER: DRIVER, BETA_STORAGE_PROVISIONER: DRIVER}
    [(type_, reason, message)] = events(world)
    assert (type_, reason) == ("Normal", "ExternalProvisioning")
    assert f"by the external provisioner '{DRIVER}' or manually" in message


def test_the_driver_of_a_plugin_is_named_in_its_place() -> None:
    world = a_world(
        a_claim(), a_class(provisioner="kubernetes.io/gce-pd", binding_mode="Immediate")
    )
    look_after(world, CLAIM, KEY)
    assert the_claim(world).annotations[STORAGE_PROVISIONER] == "pd.csi.storage.gke.io"


def test_nothing_is_provisioned_where_that_is_switched_off() -> None:
    world = a_world(a_claim(), CLASS, plugin=OURS)
    world.provisions_dynamically = False
    assert decide_provision(the_claim(world), world).plan == Plan(
        reason=BindingReason.PROVISIONING_IS_DISABLED
    )


def test_a_provisioner_inside_makes_a_volume_that_belongs_to_the_claim_at_once() -> None:
    world = a_world(a_claim(gib=3), CLASS, plugin=OURS)
    look_after(world, CLAIM, KEY)
    volume = the_volume(world, NAME)
    assert volume.spec.claim == KEY
    assert volume.spec.storage_class_name == CLASS.name
    assert volume.annotations == {BOUND_BY_CONTROLLER: "yes", PROVISIONED_BY: "host-path"}
    assert volume.metadata.finalizers == (INTERNAL_DELETION,)
    message = f"Successfully provisioned volume {NAME} using host-path"
    assert events(world) == [("Normal", "ProvisioningSucceeded", message)]
    look_after(world, CLAIM, KEY)
    assert the_claim(world).spec.volume_name == NAME


def a_class_with_options() -> StorageClass:
    return msgspec.structs.replace(CLASS, mount_options=("ro", "noatime"))


def a_claim_with_attributes() -> PersistentVolumeClaim:
    claim = a_claim()
    spec = msgspec.structs.replace(claim.spec, volume_attributes_class_name="gold")
    return msgspec.structs.replace(claim, spec=spec)


def a_clone() -> PersistentVolumeClaim:
    claim = a_claim()
    source = DataSource(kind="PersistentVolumeClaim", name="source")
    return msgspec.structs.replace(
        claim, spec=msgspec.structs.replace(claim.spec, data_source=source)
    )


UNWILLING = Plugin({"provision": ""}, name="host-path")


@pytest.mark.parametrize(
    ("claim", "class_", "plugin", "message"),
    [
        pytest.param(
            a_claim(class_name="ghost"),
            CLASS,
            OURS,
            'storageclass.storage.k8s.io "ghost" not found',
            id="no-such-class",
        ),
        pytest.param(
            a_claim(),
            a_class(provisioner="kubernetes.io/no-provisioner", binding_mode="Immediate"),
            OURS,
            "no volume plugin matched name: kubernetes.io/no-provisioner",
            id="no-such-plugin",
        ),
        pytest.param(
            a_claim(),
            a_class_with_options(),
            OURS,
            "Mount options are not supported by the provisioner but StorageClass "
            '"fast" has mount options [ro noatime]',
            id="mount-options",
        ),
        pytest.param(
            a_clone(),
            CLASS,
            OURS,
            'plugin "host-path" is not a CSI plugin. '
            "Only CSI plugin can provision a claim with a datasource",
            id="data-source",
        ),
        pytest.param(
            a_claim_with_attributes(),
            CLASS,
            OURS,
            "Volume attributes classes are not supported by the provisioner but the claim asks for "
            '"gold"',
            id="volume-attributes-class",
        ),
        pytest.param(
            annotated_claim(a_claim(), {SELECTED_NODE: "gone"}),
            CLASS,
            OURS,
            'Failed to get target node: node "gone" not found',
            id="no-such-node",
        ),
        pytest.param(
            a_claim(),
            CLASS,
            UNWILLING,
            "Failed to create provisioner: Mock plugin error: no provisionCalls configured",
            id="the-provisioner-objects",
        ),
    ],
)
def test_what_cannot_be_provisioned_is_told_and_nothing_is_made(
    claim: PersistentVolumeClaim, class_: StorageClass, plugin: Plugin, message: str
) -> None:
    world = a_world(claim, class_, plugin=plugin)
    decisions = look_after(world, CLAIM, KEY)
    assert events(world) == [("Warning", "ProvisioningFailed", message)]
    assert not any(isinstance(decision.operation, Provision) for decision in decisions)
    assert the_claim(world).status.phase == ""


HELD = {SELECTED_NODE: "gone", STORAGE_PROVISIONER: "host-path", HOLD: "pod/0/make"}


def test_a_selected_node_that_is_gone_stays_on_the_claim() -> None:
    world = a_world(annotated_claim(a_claim(), {SELECTED_NODE: "gone"}), CLASS, plugin=OURS)
    look_after(world, CLAIM, KEY)
    assert the_claim(world).annotations[SELECTED_NODE] == "gone"


def test_the_scheduler_that_holds_the_claim_is_told_and_takes_the_node_off_itself() -> None:
    world = a_world(annotated_claim(a_claim(), HELD), CLASS, plugin=OURS)
    operation = decide_provision(the_claim(world), world).operation
    assert isinstance(operation, RefuseClaim)
    assert operation.message == 'Failed to get target node: node "gone" not found'
    look_after(world, CLAIM, KEY)
    assert the_claim(world).annotations[SELECTED_NODE] == "gone"


def test_the_provisioner_learns_of_the_selected_node() -> None:
    claim = annotated_claim(a_claim(), {SELECTED_NODE: "node-1", STORAGE_PROVISIONER: "host-path"})
    world = a_world(claim, CLASS, a_node(), plugin=OURS)
    operation = decide_provision(the_claim(world), world).operation
    assert isinstance(operation, Provision)
    assert operation.selected_node == a_node()


def test_a_volume_that_exists_already_is_not_made_again() -> None:
    world = a_world(a_claim(), CLASS, plugin=OURS)
    look_after(world, CLAIM, KEY)
    decision = decide_provision(the_claim(world), world)
    assert decision.operation is None
    assert decision.plan == Plan(reason=BindingReason.PROVISIONED_ALREADY)


def an_operation(claim: PersistentVolumeClaim) -> Provision:
    return Provision(claim=claim, storage_class=CLASS, provisioner="host-path", volume_name=NAME)


def messages(plan: Plan) -> list[str]:
    return [write.message for write in plan.writes if isinstance(write, Emit)]


def test_after_a_failure_the_scheduler_may_choose_another_node() -> None:
    claim = annotated_claim(a_claim(), {SELECTED_NODE: "node-1"})
    world = a_world(claim, CLASS)
    plan = after_provision(an_operation(the_claim(world)), Failed("no room"))
    world.enact(plan)
    assert SELECTED_NODE not in the_claim(world).annotations
    assert messages(plan) == ['Failed to provision volume with StorageClass "fast": no room']


def test_a_refusal_is_not_blamed_on_the_node() -> None:
    claim = annotated_claim(a_claim(), {SELECTED_NODE: "node-1"})
    plan = after_provision(an_operation(claim), Refused("unknown parameter"))
    assert len(plan.writes) == 1
    assert messages(plan) == [
        'Failed to provision volume with StorageClass "fast": unknown parameter'
    ]


def test_a_retained_volume_gets_no_finalizer() -> None:
    made = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
    create = after_provision(an_operation(a_claim()), Provisioned(made)).writes[0]
    assert isinstance(create, Create)
    assert "finalizers" not in create.document["metadata"]
    assert made == {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}


def test_what_could_not_be_stored_is_told_step_by_step() -> None:
    operation = an_operation(a_claim())
    assert messages(after_saved(operation)) == [
        f"Successfully provisioned volume {NAME} using host-path"
    ]
    assert messages(after_unsaved(operation, "timeout")) == [
        "Error creating provisioned PV object for claim default/data: timeout. Deleting the volume."
    ]
