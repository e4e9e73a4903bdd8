"""A tally is what a fresh count would be, for every scope, whatever came and went."""

from random import Random

from hypothesis import given, strategies as st

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.quota.charges import charge
from plimsoll.apiserver.admission.quota.scopes import Scope
from plimsoll.apiserver.admission.quota.tally import QuotaTally, counted
from tests.apiserver.admission.requests import a_claim, a_pod

BUSY = {"requests": {"cpu": "250m", "memory": "64Mi"}}
PODS = [
    a_pod("idle"),
    a_pod("busy", BUSY),
    a_pod("short", BUSY, activeDeadlineSeconds=5),
    a_pod("done", BUSY) | {"status": {"phase": "Succeeded"}},
]
SCOPES: list[tuple[Scope, ...]] = [
    (),
    (Scope("Terminating", "Exists"),),
    (Scope("NotBestEffort", "Exists"),),
    (Scope("BestEffort", "Exists"), Scope("NotTerminating", "Exists")),
]
NAMES = sorted({name for pod in PODS for name in charge("", "pods", pod)})


def shown(tally: QuotaTally) -> dict[str, str]:
    """What is used of everything that is used."""
    return {name: str(n) for name, n in tally.totals(NAMES).items() if n.sign}


@given(
    scopes=st.sampled_from(SCOPES),
    kept=st.lists(st.sampled_from(PODS), max_size=6),
    taken=st.lists(st.sampled_from(PODS), max_size=6),
    chance=st.randoms(use_true_random=False),
)
def test_what_came_and_went_is_not_counted(
    scopes: tuple[Scope, ...], kept: list[Document], taken: list[Document], chance: Random
) -> None:
    both = kept + taken
    tally = counted("", "pods", scopes, chance.sample(both, len(both)))
    for document in taken:
        tally.take(document)
    assert shown(tally) == shown(counted("", "pods", scopes, kept))


def test_a_copy_goes_its_own_way() -> None:
    tally = counted("", "persistentvolumeclaims", (), [a_claim("a", "1Gi")])
    other = tally.copy()
    other.add(a_claim("b", "2Gi"))
    storage = ["requests.storage"]
    assert str(tally.totals(storage)["requests.storage"]) == "1Gi"
    assert str(other.totals(storage)["requests.storage"]) == "3Gi"
