"""A pod is judged by the policy of the scheduler that runs, as far as that is known."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from plimsoll.api.core import Lease
from plimsoll.decide.explain.policies import PolicySource, choose_policy
from plimsoll.decide.scheduling.policy import Policy
from tests.decide.explain.witnesses import MINUTE, NOW, a_lease, a_scheduler_identity


def elsewhere(lease: Lease) -> Lease:
    """In a namespace whose records are believed: others are left out before."""
    return replace(lease, metadata=replace(lease.metadata, namespace="tenant"))


THEIRS = "default-scheduler"
KUBE = a_lease("kube-scheduler")
OURS = a_scheduler_identity(THEIRS)
ENDED = a_scheduler_identity(THEIRS, age=9 * MINUTE)
MOVED = elsewhere(a_scheduler_identity(THEIRS, Policy.COMPATIBLE, age=-9 * MINUTE))
MOVED_OURS = elsewhere(a_scheduler_identity(THEIRS, age=-9 * MINUTE))
COMPATIBLE = a_scheduler_identity("beside", Policy.COMPATIBLE)


@pytest.mark.parametrize(
    ("scheduler", "leases", "policy", "source"),
    [
        pytest.param(THEIRS, (OURS,), "default", "Published", id="ours-instead-of-theirs"),
        pytest.param(THEIRS, (KUBE,), "compatible", "KubeScheduler", id="kube-scheduler"),
        pytest.param(THEIRS, (KUBE, ENDED), "compatible", "KubeScheduler", id="went-back"),
        pytest.param(THEIRS, (ENDED,), "default", "Published", id="ours-is-stopped"),
        pytest.param(THEIRS, (), "compatible", "Assumed", id="nothing-is-published"),
        pytest.param(THEIRS, None, "compatible", "Assumed", id="leases-are-unread"),
        pytest.param(THEIRS, (MOVED, OURS), "default", "Published", id="of-an-earlier-namespace"),
        pytest.param(
            THEIRS, (MOVED_OURS, KUBE), "compatible", "KubeScheduler", id="elsewhere-beside-theirs"
        ),
        pytest.param(THEIRS, (MOVED_OURS, ENDED), "default", "Published", id="moved-elsewhere"),
        pytest.param("beside", (COMPATIBLE,), "compatible", "Published", id="beside"),
        pytest.param("plimsoll", (OURS,), "default", "Assumed", id="our-name"),
        pytest.param("volcano", (OURS, KUBE), "compatible", "Assumed", id="another-scheduler"),
    ],
)
def test_what_is_published_counts_before_what_a_name_suggests(
    scheduler: str, leases: Sequence[Lease] | None, policy: str, source: str
) -> None:
    chosen = choose_policy(scheduler, None, leases, NOW)
    assert (chosen.policy, chosen.source) == (policy, source)


def test_what_the_user_asks_for_counts_first() -> None:
    chosen = choose_policy(THEIRS, Policy.COMPATIBLE, (OURS,), NOW)
    assert (chosen.policy, chosen.source) == (Policy.COMPATIBLE, PolicySource.ASKED)
