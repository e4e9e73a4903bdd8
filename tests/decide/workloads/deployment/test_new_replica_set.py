from plimsoll.decide.workloads.deployment.new_replica_set import (
    is_same_template,
    revision_of,
    set_annotations,
    set_document,
)
from plimsoll.decide.workloads.deployment.rollout import REVISION, REVISION_HISTORY
from tests.decide.workloads.objects import LABELS, a_deployment, a_replica_set, template


def test_the_set_selects_its_own_pods_alone() -> None:
    document = set_document(a_deployment(), "web-abc", "abc", {"x": "y"})
    marked = LABELS | {"pod-template-hash": "abc"}
    assert document["metadata"]["labels"] == marked
    assert document["spec"]["selector"] == {"matchLabels": marked}
    assert document["spec"]["template"]["metadata"]["labels"] == marked
    assert document["metadata"]["ownerReferences"][0]["kind"] == "Deployment"


def test_expressions_of_the_selector_are_kept() -> None:
    expression = {"key": "tier", "operator": "In", "values": ["a"]}
    exists = {"key": "x", "operator": "Exists"}
    selector = {"matchLabels": LABELS, "matchExpressions": [expression, exists]}
    document = set_document(a_deployment(selector=selector), "web-abc", "abc", {})
    assert document["spec"]["selector"]["matchExpressions"] == [expression, exists]


def test_templates_are_compared_without_the_mark_of_the_set() -> None:
    marked = template()
    marked["metadata"]["labels"]["pod-template-hash"] = "abc"
    assert is_same_template(marked, template())
    assert not is_same_template(marked, template("web:2"))


def test_annotations_of_the_deployment_are_copied_but_for_its_bookkeeping() -> None:
    own = {"team": "a", REVISION: "9", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    assert set_annotations(a_deployment(annotations=own), {}, 3) == {"team": "a", REVISION: "3"}


def test_a_revision_only_grows_and_remembers_what_it_was() -> None:
    deployment = a_deployment()
    grown = set_annotations(deployment, {REVISION: "2", REVISION_HISTORY: "1"}, 5)
    assert grown == {REVISION: "5", REVISION_HISTORY: "1,2"}
    assert set_annotations(deployment, {REVISION: "7"}, 5) == {REVISION: "7"}


def test_a_long_history_forgets_its_beginning() -> None:
    history = ",".join(str(n) for n in range(1000, 1400))
    grown = set_annotations(a_deployment(), {REVISION: "1400", REVISION_HISTORY: history}, 1401)
    assert grown[REVISION_HISTORY].endswith(",1399,1400")
    assert len(grown[REVISION_HISTORY]) <= 2000


def test_a_set_without_a_readable_revision_counts_as_the_oldest() -> None:
    assert revision_of(a_replica_set(annotations={REVISION: "12"})) == 12
    assert revision_of(a_replica_set(annotations={REVISION: "x"})) == 0
    assert revision_of(a_replica_set()) == 0
