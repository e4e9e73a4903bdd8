from plimsoll.apiserver.model.kinds.workloads.replica_set import RULES
from tests.apiserver.model.kinds.pods.objects import causes
from tests.apiserver.model.kinds.workloads.objects import SELECTOR, a_template, a_workload, stored


def test_a_replica_set_has_one_replica_unless_it_says_otherwise() -> None:
    new = a_workload(RULES, "apps", "ReplicaSet", selector=SELECTOR, template=a_template())

    assert new["spec"]["replicas"] == 1
    assert not causes(RULES.validate(new))
    assert RULES.selectable_fields(stored(RULES, new)) == {"status.replicas": "0"}


def test_a_replica_set_selects_its_own_pods() -> None:
    new = a_workload(
        RULES, "apps", "ReplicaSet", selector=SELECTOR, template=a_template(labels={"app": "x"})
    )

    assert causes(RULES.validate(new)) == {("Invalid", "spec.template.metadata.labels"): 1}


def test_a_negative_number_of_replicas_is_refused_with_everything_above_it() -> None:
    old = stored(
        RULES, a_workload(RULES, "apps", "ReplicaSet", selector=SELECTOR, template=a_template())
    )
    new = old | {"status": {"replicas": -1}}

    assert causes(RULES.validate_status(new, old)) == {
        ("Invalid", "status.replicas"): 1,
        ("Invalid", "status.fullyLabeledReplicas"): 1,
        ("Invalid", "status.readyReplicas"): 1,
        ("Invalid", "status.availableReplicas"): 1,
    }
