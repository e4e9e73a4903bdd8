"""Which changes can help a pod whose claims found no capacity, beyond what kube-scheduler asks.

A pod with claims is woken when the capacity of a driver does not count any more, or when volumes
that did not fit together, or beside what is reserved, may do so now. When less is reserved, only
pods are woken whose volumes the same driver would have to make.
"""

from collections.abc import Collection

from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSIDriver, CSIStorageCapacity, StorageClass
from plimsoll.decide.capacity.pools import POOLS, find_class_pool, find_pools
from plimsoll.decide.capacity.tokens import find_token
from plimsoll.decide.scheduling.view import ClusterView

ANY_DRIVER = ""


def frees_capacity(before: ApiObject | None, after: ApiObject | None) -> bool:
    """Whether the change may help pods with claims."""
    return _stops_counting(before, after) or _holds_more_together(before, after)


def _stops_counting(before: ApiObject | None, after: ApiObject | None) -> bool:
    """kube-scheduler lets pods with claims wait then, for the five minutes that any may wait."""
    if not isinstance(before, CSIDriver) or not before.spec.storage_capacity:
        return False
    return not isinstance(after, CSIDriver) or not after.spec.storage_capacity


def _holds_more_together(before: ApiObject | None, after: ApiObject | None) -> bool:
    """For claims that did not fit together, or beside what is reserved: kube-scheduler looks at the
    largest volume alone."""
    match before, after:
        case CSIStorageCapacity(), CSIStorageCapacity():
            is_reported = find_token(before.annotations) != find_token(after.annotations)
            return is_reported or _total(after) > _total(before) or _has_freer_pool(before, after)
        case StorageClass(), StorageClass():
            return find_class_pool(before) != find_class_pool(after)
        case _:
            return False


def _total(capacity: CSIStorageCapacity) -> int:
    return -1 if capacity.capacity_bytes is None else capacity.capacity_bytes


def _has_freer_pool(before: CSIStorageCapacity, after: CSIStorageCapacity) -> bool:
    if before.annotations.get(POOLS) == after.annotations.get(POOLS):
        return False
    known = {pool.name: pool for pool in find_pools(before.annotations) or ()}
    for pool in find_pools(after.annotations) or ():
        old = known.get(pool.name)
        if old is None or old.cost != pool.cost:
            return True
        if any(free > old.free.get(name, 0) for name, free in pool.free.items()):
            return True
    # Without pools the objects of two classes do not compete.
    return POOLS not in after.annotations


# What is reserved


def drivers_of(classes: Collection[str], view: ClusterView) -> frozenset[str]:
    """Who makes volumes of these classes. A class that is gone may have been of any driver."""
    return frozenset(_driver_of(name, view) for name in classes)


def shares_capacity(pod: Pod, drivers: Collection[str], view: ClusterView) -> bool:
    """Whether one of the drivers would have to make a volume for the pod."""
    asked = {_driver_of(name, view) for name in _classes_to_provision(pod, view)}
    return bool(asked) and (ANY_DRIVER in drivers or not asked.isdisjoint((*drivers, ANY_DRIVER)))


def _classes_to_provision(pod: Pod, view: ClusterView) -> list[str]:
    claims = (view.claim(key) for key in pod.claims)
    return [each.storage_class for each in claims if each and not each.spec.volume_name]


def _driver_of(class_: str, view: ClusterView) -> str:
    found = view.storage_class(class_)
    return ANY_DRIVER if found is None else found.provisioner
