"""What a pod says about other pods: which of them it wants near it or far from it.

Everything is read once. A pod that is being scheduled is not scheduled at all while one of its
selectors cannot be read; of a pod that is on a node already the lists of terms count that can be.
A term of the former looks at namespaces that exist; a term of the latter looks at the namespace of
the other pod, which may have no object: then it has no labels.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Self, TypeVar

import msgspec

from plimsoll.api.pods import Pod, PodAffinity, PodAffinityTerm
from plimsoll.api.selectors.label import NOTHING, LabelSelector

T = TypeVar("T")

Labels = Mapping[str, str]
NO_TERMS = PodAffinity()


@dataclass(frozen=True, slots=True)
class PodSelector:
    """Pods with some labels, in namespaces that are named or that have some labels."""

    labels: LabelSelector
    namespaces: frozenset[str] = frozenset()
    namespace_labels: LabelSelector = NOTHING

    def matches(self, pod: Pod, namespace_labels: Labels | None) -> bool:
        """The labels are those of the pod's namespace; None: it has no object."""
        return self.selects_namespace(pod.namespace, namespace_labels) and self.labels.matches(
            pod.labels
        )

    def selects_namespace(self, name: str, labels: Labels | None) -> bool:
        if name in self.namespaces:
            return True
        if labels is None:
            return self.namespace_labels.is_empty
        return self.namespace_labels.matches(labels)


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Pods, and the label by whose value nodes count as near to them or not."""

    pods: PodSelector
    topology_key: str

    @classmethod
    def of(cls, spec: PodAffinityTerm, owner: Pod) -> Self:
        """Raises ValueError. Without namespaces and their selector it is about those of the pod's
        own namespace."""
        names = spec.namespaces
        if not names and spec.namespace_selector is None:
            names = (owner.namespace,)
        selector = PodSelector(
            LabelSelector.of(spec.label_selector),
            frozenset(names),
            LabelSelector.of(spec.namespace_selector),
        )
        return cls(selector, spec.topology_key)


@dataclass(frozen=True, slots=True)
class WeightedPodTerm:
    weight: int
    term: PodTerm
    is_required: bool = False
    """Whether its pod insists on it; then a profile may weigh it otherwise."""

    @property
    def pods(self) -> PodSelector:
        return self.term.pods


@dataclass(frozen=True, slots=True)
class PodTerms:
    """All that one pod says about others."""

    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred: tuple[WeightedPodTerm, ...] = ()
    avoided: tuple[WeightedPodTerm, ...] = ()

    @classmethod
    def of(cls, pod: Pod) -> Self:
        """Raises ValueError, which says in kube-scheduler's words what cannot be read."""
        complaints: list[str] = []
        terms = cls._read(pod, complaints)
        if complaints:
            told = ", ".join(complaints)
            raise ValueError(told if len(complaints) == 1 else f"[{told}]")
        return terms

    @classmethod
    def readable(cls, pod: Pod) -> Self:
        """Without the lists in which something cannot be read."""
        return cls._read(pod, [])

    @classmethod
    def _read(cls, pod: Pod, complaints: list[str]) -> Self:
        if pod.spec.affinity is None:
            return cls()
        near = pod.spec.affinity.pod_affinity or NO_TERMS
        far = pod.spec.affinity.pod_anti_affinity or NO_TERMS
        return cls(
            _readable("requiredAffinityTerms", lambda: _required(near, pod), complaints),
            _readable("requiredAntiAffinityTerms", lambda: _required(far, pod), complaints),
            _readable("preferredAffinityTerms", lambda: _preferred(near, pod), complaints),
            _readable("preferredAntiAffinityTerms", lambda: _preferred(far, pod), complaints),
        )

    @classmethod
    def required_of(cls, pod: Pod) -> Self:
        """Only what the pod insists on. Raises ValueError."""
        if pod.spec.affinity is None:
            return cls()
        near = pod.spec.affinity.pod_affinity or NO_TERMS
        far = pod.spec.affinity.pod_anti_affinity or NO_TERMS
        return cls(
            tuple(PodTerm.of(spec, pod) for spec in near.required),
            tuple(PodTerm.of(spec, pod) for spec in far.required),
        )

    @property
    def is_empty(self) -> bool:
        return not (self.affinity or self.anti_affinity or self.preferred or self.avoided)


def _required(affinity: PodAffinity, pod: Pod) -> tuple[PodTerm, ...]:
    return tuple(PodTerm.of(spec, pod) for spec in affinity.required)


def _preferred(affinity: PodAffinity, pod: Pod) -> tuple[WeightedPodTerm, ...]:
    return tuple(
        WeightedPodTerm(spec.weight, PodTerm.of(spec.pod_affinity_term, pod))
        for spec in affinity.preferred
    )


def _readable(name: str, read: Callable[[], tuple[T, ...]], complaints: list[str]) -> tuple[T, ...]:
    """Nothing of a list in which something cannot be read, and a complaint instead."""
    try:
        return read()
    except ValueError as error:
        complaints.append(f"{name}: {error}")
        return ()


def affinity_fingerprint(pod: Pod) -> bytes | None:
    """Pods with the same one say the same about others; None: they say nothing."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return None
    return msgspec.msgpack.encode(
        (pod.namespace, affinity.pod_affinity, affinity.pod_anti_affinity)
    )


def match_all(selectors: Iterable[PodSelector], pod: Pod, namespace_labels: Labels | None) -> bool:
    return all(selector.matches(pod, namespace_labels) for selector in selectors)
