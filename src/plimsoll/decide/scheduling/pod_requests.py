"""How much of a node a pod takes.

A pod that is still to be placed is taken at its word. One that is on a node may be in the middle of
a resize, and what it holds is then the most of three views: what its spec asks for, what the node
has granted, and what is in effect. Sums are exact; only the total is rounded up, to thousandths of
a cpu and to whole units of everything else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from plimsoll.api.meta import find_condition
from plimsoll.api.pods import Container, Pod
from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.api.volumes import Quantities

CPU, MEMORY, EPHEMERAL_STORAGE = "cpu", "memory", "ephemeral-storage"
HUGE_PAGES = "hugepages-"
ATTACHABLE = "attachable-volumes-"
NATIVE_DOMAIN = "kubernetes.io/"
QUOTA_PREFIX = "requests."

Totals = dict[str, Quantity]
Requested = Callable[[Container], Totals]

DEFAULT_REQUESTS: Totals = {CPU: parse_quantity("100m"), MEMORY: parse_quantity("200Mi")}
"""What a container counts for if it does not say, when nodes are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """Parts of a node's resources; everything but the cpu is in whole units."""

    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    scalars: Mapping[str, int] = field(default_factory=dict)
    """Everything else that nodes count: huge pages, devices and the like."""


def requested_by(pod: Pod) -> Amounts:
    """What a pod that is to be placed asks for."""
    return _amounts(_with_pod_level(_of_containers(pod, _in_spec), _shared_requests(pod), pod))


def held_by(pod: Pod) -> Amounts:
    """What a pod takes of the node that it is on."""
    return _amounts(_held(pod, {}))


def held_quantities(pod: Pod) -> Mapping[str, Quantity]:
    """The same exactly, with every resource that the pod names."""
    return _held(pod, {})


def non_zero_requests(pod: Pod) -> tuple[int, int]:
    """Thousandths of a cpu, and memory, with something assumed where a container does not say.

    Nodes are compared by this, so that many pods that ask for nothing do not end up on one node.
    """
    defaults = DEFAULT_REQUESTS
    if _shared_requests(pod):
        held = _held(pod, {})
        defaults = {
            name: usual
            for name, usual in DEFAULT_REQUESTS.items()
            if name not in held or not held[name].unscaled
        }
    amounts = _amounts(_held(pod, defaults))
    return amounts.milli_cpu, amounts.memory


def is_scalar(name: str) -> bool:
    """Whether nodes count a resource of this name beside cpu, memory and local storage."""
    if NATIVE_DOMAIN in name or name.startswith((HUGE_PAGES, ATTACHABLE)):
        return True
    return "/" in name and not name.startswith(QUOTA_PREFIX)


def _in_spec(container: Container) -> Totals:
    return _parsed(container.resources.requests)


def _held(pod: Pod, defaults: Totals) -> Totals:
    """`defaults` stand in for what a container does not ask for, in every view."""
    wanted, granted, in_effect = _views(pod, defaults)
    # What the node will never give does not count, not even what stands in for it.
    totals = {} if _is_resize_refused(pod) else _of_containers(pod, wanted)
    whole = pod.status
    if whole.allocated_resources and whole.resources and whole.resources.requests:
        # The node keeps account of the pod as a whole, and knows better than the sum.
        _raise_to(totals, _parsed(whole.allocated_resources))
        _raise_to(totals, _parsed(whole.resources.requests))
    else:
        _raise_to(totals, _of_containers(pod, granted))
        _raise_to(totals, _of_containers(pod, in_effect))
    return _with_pod_level(totals, _shared_held(pod), pod)


def _views(pod: Pod, defaults: Totals) -> tuple[Requested, Requested, Requested]:
    """Three views, each falling back on the one before where the node has not said anything."""
    statuses = {
        status.name: status
        for status in (*pod.status.container_statuses, *pod.status.init_container_statuses)
    }

    is_refused = _is_resize_refused(pod)

    def wanted(container: Container) -> Totals:
        return {} if is_refused else _in_spec(container)

    def granted(container: Container) -> Totals:
        status = statuses.get(container.name)
        if status is None or not status.allocated_resources:
            return wanted(container)
        return _parsed(status.allocated_resources)

    def in_effect(container: Container) -> Totals:
        status = statuses.get(container.name)
        if status is None or status.resources is None:
            return granted(container)
        return _parsed(status.resources.requests)

    def completed(view: Requested) -> Requested:
        return lambda container: {**defaults, **view(container)}

    return completed(wanted), completed(granted), completed(in_effect)


def _is_resize_refused(pod: Pod) -> bool:
    """The node will never give what the spec asks for now."""
    if not pod.status.conditions:
        return False
    pending = find_condition(pod.status.conditions, "PodResizePending")
    return pending is not None and pending.reason == "Infeasible"


def _with_pod_level(totals: Totals, shared: Totals, pod: Pod) -> Totals:
    """What the pod asks for as a whole counts instead of the sum of its containers."""
    totals |= shared
    _add(totals, _parsed(pod.spec.overhead))
    return totals


def _of_containers(pod: Pod, requested: Requested) -> Totals:
    """The most that is needed at any time, from the first init container on."""
    running: Totals = {}
    for container in pod.spec.containers:
        _add(running, requested(container))
    beside: Totals = {}
    peak: Totals = {}
    for container in pod.spec.init_containers:
        own = requested(container)
        now = dict(beside)
        _add(now, own)
        if container.is_sidecar:
            _add(running, own)
            beside = now
        _raise_to(peak, now)
    _raise_to(running, peak)
    return running


def _shared_requests(pod: Pod) -> Totals:
    """What the containers of the pod ask for together."""
    requests = pod.spec.resources.requests if pod.spec.resources else {}
    return _parsed({name: text for name, text in requests.items() if _is_shared(name)})


def _shared_held(pod: Pod) -> Totals:
    shared = _shared_requests(pod)
    if pod.status.resources is None:
        return shared
    held = {} if _is_resize_refused(pod) else dict(shared)
    _raise_to(held, _parsed(pod.status.allocated_resources))
    _raise_to(held, _parsed(pod.status.resources.requests))
    return {name: held.get(name, Quantity(0)) for name in shared}


def _is_shared(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES)


def _parsed(quantities: Quantities) -> Totals:
    return {name: parse_quantity(text) for name, text in quantities.items()}


def _add(totals: Totals, more: Totals) -> None:
    for name, quantity in more.items():
        totals[name] = totals[name] + quantity if name in totals else quantity


def _raise_to(totals: Totals, other: Totals) -> None:
    for name, quantity in other.items():
        if name not in totals or quantity > totals[name]:
            totals[name] = quantity


def _amounts(totals: Totals) -> Amounts:
    return Amounts(
        milli_cpu=totals[CPU].milli_value if CPU in totals else 0,
        memory=totals[MEMORY].value if MEMORY in totals else 0,
        ephemeral_storage=totals[EPHEMERAL_STORAGE].value if EPHEMERAL_STORAGE in totals else 0,
        scalars={name: total.value for name, total in totals.items() if is_scalar(name)},
    )
