from plimsoll.api.selectors.label import EVERYTHING, NOTHING, parse_label_selector
from plimsoll.decide.scheduling.columns.pods.alike import AlikePods
from plimsoll.decide.scheduling.pod_terms import PodSelector
from tests.builders import a_pod

WEB = PodSelector(parse_label_selector("app=web"), frozenset({"default"}))


def by_slot(pods: AlikePods, selector: PodSelector) -> list[dict[int, int]]:
    return [kind.by_slot for kind in pods.candidates(selector)]


def some_pods() -> AlikePods:
    pods = AlikePods()
    for number, app in enumerate(["web", "web", "db"]):
        pods.add(a_pod(f"p{number}", labels={"app": app}), number // 2, 1)
    return pods


def test_pods_with_the_same_labels_are_of_one_kind() -> None:
    pods = some_pods()
    everywhere = PodSelector(parse_label_selector("app=web"), namespace_labels=EVERYTHING)
    nowhere = PodSelector(NOTHING, frozenset({"default"}))

    assert by_slot(pods, WEB) == by_slot(pods, everywhere) == [{0: 2}]
    assert len(by_slot(pods, PodSelector(EVERYTHING, frozenset({"default"})))) == 2
    assert by_slot(pods, PodSelector(WEB.labels, frozenset({"other"}))) == []
    assert by_slot(pods, nowhere) == []


def test_kinds_without_pods_are_forgotten() -> None:
    pods = some_pods()
    fork = pods.fork()

    pods.add(a_pod("p0", labels={"app": "web"}), 0, -1)
    assert by_slot(pods, WEB) == [{0: 1}]
    pods.clear_node(0)
    assert by_slot(pods, WEB) == []
    assert by_slot(fork, WEB) == [{0: 2}]
