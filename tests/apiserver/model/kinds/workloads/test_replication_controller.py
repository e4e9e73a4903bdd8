from plimsoll.apiserver.model.kinds.workloads.replication_controller import RULES
from tests.apiserver.model.kinds.pods.objects import causes
from tests.apiserver.model.kinds.workloads.objects import a_template, a_workload


def test_selector_and_labels_are_taken_from_the_template() -> None:
    new = a_workload(RULES, "", "ReplicationController", template=a_template())

    assert new["spec"]["selector"] == {"app": "web"}
    assert new["metadata"]["labels"] == {"app": "web"}
    assert not causes(RULES.validate(new))


def test_a_template_is_needed() -> None:
    new = a_workload(RULES, "", "ReplicationController")

    assert causes(RULES.validate(new)) == {
        ("Required", "spec.selector"): 1,
        ("Required", "spec.template"): 1,
    }
