"""By which rules the pods of a scheduler are judged: policy, profile, and the pods that it leaves
room for.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from plimsoll.api.core import Lease
from plimsoll.api.pods import Pod
from plimsoll.decide.explain.evidence import Evidence
from plimsoll.decide.explain.policies import ChosenPolicy, choose_policy
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.policy import Policy, holder_of, scheduler_of
from plimsoll.processes.scheduler.configuration.profiles import NamedProfile
from plimsoll.processes.scheduler.configuration.published import judged_by, parse_published
from plimsoll.runtime.config import ConfigError
from plimsoll.ui.explain.reading import ClusterReading

NO_PROFILES: Mapping[str, NamedProfile] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRules:
    """What the user says instead of what the scheduler has published."""

    policy: Policy | None = None
    profiles: Mapping[str, NamedProfile] = field(default_factory=dict)
    """By scheduler name."""
    record_namespaces: frozenset[str] = frozenset()
    """Where records are believed; empty: where the scheduler believes them."""


NOTHING_ASKED = AskedRules()


@dataclass(frozen=True, slots=True)
class SchedulerRules:
    chosen: ChosenPolicy
    kernel: Kernel
    remark: str = ""
    """What could not be followed."""


def rules_of(scheduler: str, asked: AskedRules, reading: ClusterReading) -> SchedulerRules:
    """Of the pods that name the scheduler."""
    evidence = reading.evidence
    chosen = choose_policy(scheduler, asked.policy, evidence.believed_leases, evidence.now)
    chosen, settings, remark = _settings(scheduler, chosen, asked.profiles)
    kernel = Kernel(Columns.of(reading.objects), settings)
    kernel.advance(evidence.now)
    for pod in _nominated(scheduler, reading):
        kernel.columns.nominations.put(pod)
    return SchedulerRules(chosen, kernel, remark)


def _settings(
    scheduler: str, chosen: ChosenPolicy, profiles: Mapping[str, NamedProfile]
) -> tuple[ChosenPolicy, KernelSettings, str]:
    if (named := profiles.get(scheduler)) is not None:
        sentence = f"{chosen.sentence}; by the profile of --config"
        return replace(chosen, sentence=sentence), judged_by(named, chosen.policy), ""
    try:
        return chosen, parse_published(chosen.profile, chosen.policy), ""
    except ConfigError as error:
        remark = (
            f"the profile that scheduler {scheduler} has published is not understood ({error}): its"
            " pods are judged by the default one; name the scheduler's file with --config"
        )
        return chosen, KernelSettings(policy=chosen.policy), remark


def _nominated(scheduler: str, reading: ClusterReading) -> Iterator[Pod]:
    """Waiting pods of the same scheduler to which it has promised a node."""
    names = _names_beside(scheduler, reading.evidence)
    for pod in reading.all(Pod):
        is_waiting = not pod.spec.node_name and not pod.is_being_deleted
        if is_waiting and pod.status.nominated_node_name and scheduler_of(pod) in names:
            yield pod


def _names_beside(scheduler: str, evidence: Evidence) -> frozenset[str]:
    """All names of which one process schedules the pods, as far as its leases tell."""
    holders = dict(_holders(evidence.believed_leases or ()))
    own = holders.get(scheduler)
    if own is None:
        return frozenset({scheduler})
    return frozenset(name for name, holder in holders.items() if holder == own)


def _holders(leases: Iterable[Lease]) -> Iterator[tuple[str, str]]:
    for lease in leases:
        if (found := holder_of(lease)) is not None:
            yield found
