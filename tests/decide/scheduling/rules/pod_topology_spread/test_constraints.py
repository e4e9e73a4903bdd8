import pytest

from plimsoll.api.pods import TopologySpreadConstraint
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import SpreadConstraint
from tests.decide.scheduling.rules.pod_topology_spread.builders import WEB

LABELS = {"app": "web", "hash": "1"}


def read(selector: LabelSelectorSpec | None = WEB, keys: tuple[str, ...] = ()) -> SpreadConstraint:
    spec = TopologySpreadConstraint(label_selector=selector, match_label_keys=keys)
    return SpreadConstraint.of(spec, LABELS)


@pytest.mark.parametrize(
    ("keys", "pods"),
    [
        pytest.param((), "app=web", id="none"),
        pytest.param(("hash",), "hash=1,app=web", id="one-that-the-pod-has"),
        pytest.param(("none",), "app=web", id="one-that-the-pod-lacks"),
    ],
)
def test_label_keys_become_conditions(keys: tuple[str, ...], pods: str) -> None:
    assert str(read(keys=keys).pods) == pods


def test_a_missing_selector_stays_one_whatever_the_label_keys() -> None:
    assert read(None, ("hash",)).pods.selects_nothing
    assert read(LabelSelectorSpec(), ("hash",)).counts(LABELS)
    assert not read(LabelSelectorSpec()).counts(LABELS)


def test_what_is_left_out_is_as_kubernetes_documents_it() -> None:
    found = read()

    assert (found.min_domains, found.honors_affinity, found.honors_taints) == (1, True, False)
