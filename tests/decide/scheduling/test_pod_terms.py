"""Terms of pod affinity, as they are read."""

import pytest

from plimsoll.api.meta import ObjectMeta
from plimsoll.api.pods import Affinity, Pod, PodAffinity, PodAffinityTerm, PodSpec
from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.decide.scheduling.pod_terms import PodTerm, PodTerms

WEB = LabelSelectorSpec(match_labels={"app": "web"})


def a_pod(namespace: str, **labels: str) -> Pod:
    return Pod(metadata=ObjectMeta(name="p", namespace=namespace, labels=labels))


@pytest.mark.parametrize(
    ("term", "selected"),
    [
        pytest.param(PodAffinityTerm(label_selector=WEB), {"home"}, id="own-namespace-by-default"),
        pytest.param(
            PodAffinityTerm(label_selector=WEB, namespaces=("far",)), {"far"}, id="named-ones-only"
        ),
        pytest.param(
            PodAffinityTerm(label_selector=WEB, namespace_selector=LabelSelectorSpec()),
            {"home", "far"},
            id="an-empty-selector-takes-all",
        ),
        pytest.param(
            PodAffinityTerm(
                label_selector=WEB,
                namespaces=("home",),
                namespace_selector=LabelSelectorSpec(match_labels={"team": "far"}),
            ),
            {"home", "far"},
            id="named-ones-and-selected-ones",
        ),
        pytest.param(PodAffinityTerm(), set(), id="no-label-selector-matches-no-pod"),
    ],
)
def test_a_term_is_about_pods_of_some_namespaces(term: PodAffinityTerm, selected: set[str]) -> None:
    pods = PodTerm.of(term, a_pod("home")).pods

    found = {
        name for name in ("home", "far") if pods.matches(a_pod(name, app="web"), {"team": name})
    }
    assert found == selected


def test_a_selector_that_cannot_be_read_is_an_error() -> None:
    bad = LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="a", operator="Like"),))
    affinity = Affinity(pod_affinity=PodAffinity(required=(PodAffinityTerm(label_selector=bad),)))

    with pytest.raises(ValueError, match="Like"):
        PodTerms.of(Pod(spec=PodSpec(affinity=affinity)))
