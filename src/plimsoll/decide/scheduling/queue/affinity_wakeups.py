"""Which changes can help a pod that InterPodAffinity turned away.

The first part answers as kube-scheduler does. It overlooks some changes, and a pod may then wait
for minutes although a node would do; `may_help` names those as well. A node that belongs to another
topology may also free the pod from others that avoid it, which kube-scheduler overlooks:
`avoiding_terms` has what those ask for.

`before` is None for a pod or node that came, `after` for one that went.
"""

from collections.abc import Iterable, Iterator, Sequence

from plimsoll.api.core import Namespace, Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.pod_terms import Labels, PodTerm, PodTerms
from plimsoll.decide.scheduling.queue.pod_wakeups import has_place

NO_LABELS: Labels = {}
"""kube-scheduler asks selectors of namespaces about these, whatever the namespace."""


def brings_company(pod: Pod, _before: None, after: Pod) -> bool:
    """A pod came that all affinity terms ask for."""
    return _is_asked_for(PodTerms.required_of(pod).affinity, after)


def changes_company(pod: Pod, before: Pod, after: Pod) -> bool:
    """Another pod is asked for from now on, or is in the way no more."""
    terms = PodTerms.required_of(pod)
    if not _is_asked_for(terms.affinity, before) and _is_asked_for(terms.affinity, after):
        return True
    return _is_avoided(terms.anti_affinity, before) and not _is_avoided(terms.anti_affinity, after)


def ends_conflict(pod: Pod, before: Pod, _after: None) -> bool:
    """A pod went that this one avoids, or that avoids this one."""
    if not has_place(before):
        return False
    if _is_avoided(PodTerms.required_of(pod).anti_affinity, before):
        return True
    return _is_avoided(PodTerms.required_of(before).anti_affinity, pod)


def changes_topology(pod: Pod, before: Node | None, after: Node) -> bool:
    """A node belongs to another topology that the pod's terms are about."""
    terms = PodTerms.required_of(pod)
    if before is None:
        is_near = any(term.topology_key in after.labels for term in terms.affinity)
        return is_near or bool(terms.anti_affinity)
    return any(_is_joined(term, before, after) for term in terms.affinity) or any(
        _is_left(term.topology_key, before, after) for term in terms.anti_affinity
    )


def _is_asked_for(terms: Sequence[PodTerm], other: Pod) -> bool:
    return bool(terms) and all(term.pods.matches(other, NO_LABELS) for term in terms)


def _is_avoided(terms: Sequence[PodTerm], other: Pod) -> bool:
    return any(term.pods.matches(other, NO_LABELS) for term in terms)


def _is_joined(term: PodTerm, before: Node, after: Node) -> bool:
    value = after.labels.get(term.topology_key)
    return value is not None and before.labels.get(term.topology_key) != value


def _is_left(key: str, before: Node, after: Node) -> bool:
    value = before.labels.get(key)
    return value is not None and after.labels.get(key) != value


# Beyond kube-scheduler


def may_help(pod: Pod, before: ApiObject | None, after: ApiObject | None) -> bool:
    """All of the above and what kube-scheduler overlooks. A pod that would be the first of its kind
    may go where the others like it have left; a namespace with other labels holds other pods.

    The pod's own labels are not looked at; `avoiding_terms` are to be asked about those.
    """
    match before, after:
        case (Namespace(), _) | (_, Namespace()):
            return _concerns_namespace(pod, before, after)
        case Node(), None:
            # The pods that are on it do not count any more.
            return True
        case None, Node():
            keys = _affinity_keys(pod)
            return not keys or any(key in after.labels for key in keys)
        case Node(), Node():
            is_left = any(_is_left(key, before, after) for key in _affinity_keys(pod))
            return is_left or changes_topology(pod, before, after)
        case (Pod(), _) | (_, Pod()):
            return _changes_matches(pod, before, after)
        case _:
            return False


def avoiding_terms(
    before: ApiObject | None, after: ApiObject | None, others: Iterable[PodTerm]
) -> tuple[PodTerm, ...]:
    """Pods that one of these terms matches, see `may_match`, were kept away by what changed: by a
    pod that went, or by the topology of a node that belongs to another now. The terms of `others`
    are those of all pods on nodes. Terms that cannot be read keep no pod away."""
    match before, after:
        case Pod(), None:
            return PodTerms.readable(before).anti_affinity
        case Node(), Node():
            left = {key for key in before.labels if _is_left(key, before, after)}
            return tuple(term for term in others if term.topology_key in left) if left else ()
        case _:
            return ()


def terms_of_others(columns: Columns) -> Iterator[PodTerm]:
    """Which pods may not come near to those that are on nodes or are meant for one."""
    yield from columns.pod_terms.excluding.counts
    for node in columns.nominations.nodes():
        for pod in columns.nominations.on(node):
            yield from PodTerms.readable(pod).anti_affinity


def may_match(term: PodTerm, other: Pod) -> bool:
    """A namespace that is selected by its labels may be any."""
    if not term.pods.labels.matches(other.labels):
        return False
    is_any = not term.pods.namespace_labels.selects_nothing
    return is_any or other.namespace in term.pods.namespaces


def _affinity_keys(pod: Pod) -> list[str]:
    return [term.topology_key for term in PodTerms.required_of(pod).affinity]


def _concerns_namespace(pod: Pod, before: ApiObject | None, after: ApiObject | None) -> bool:
    if before is not None and after is not None and before.labels == after.labels:
        return False
    changed = after or before
    terms = PodTerms.required_of(pod)
    return (changed is not None and changed.name == pod.namespace) or any(
        not term.pods.namespace_labels.selects_nothing
        for term in (*terms.affinity, *terms.anti_affinity)
    )


def _changes_matches(pod: Pod, before: ApiObject | None, after: ApiObject | None) -> bool:
    terms = PodTerms.required_of(pod)
    was, now = (each if isinstance(each, Pod) else None for each in (before, after))
    if _all_match(terms.affinity, was) != _all_match(terms.affinity, now):
        return True
    return any(_matches(each, was) and not _matches(each, now) for each in terms.anti_affinity)


def _all_match(terms: Sequence[PodTerm], other: Pod | None) -> bool:
    return bool(terms) and all(_matches(term, other) for term in terms)


def _matches(term: PodTerm, other: Pod | None) -> bool:
    return other is not None and may_match(term, other)
