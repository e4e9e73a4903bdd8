"""The selectors of Services and controllers: which pods belong together without saying so.

Of a controller only its selector is kept: its status changes with each of its pods, which is no
news here.
"""

from plimsoll.api.core import Service
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import LabelSelector, LabelSelectorSpec
from plimsoll.decide.scheduling.columns.pods.matching import SelectorIndex
from plimsoll.decide.scheduling.pod_terms import Labels, PodSelector
from plimsoll.decide.scheduling.view import (
    SelectingWorkload,
    WorkloadKey,
    selector_of,
    workload_key,
)


class WorkloadSelectors:
    def __init__(self) -> None:
        self._services: dict[ObjectKey, Labels] = {}
        self._selecting: SelectorIndex[ObjectKey] = SelectorIndex()
        self._workloads: dict[WorkloadKey, LabelSelectorSpec] = {}
        self.stamp = 0
        """Another number whenever a selector is another; 0 as long as there was none."""

    def get(self, key: WorkloadKey) -> LabelSelectorSpec | None:
        return self._workloads.get(key)

    def services_selecting(self, pod: Pod) -> list[Labels]:
        """Their selectors, in the order of the services' names."""
        return [self._services[key] for key in sorted(self._selecting.matching(pod, {}))]

    def put_service(self, service: Service) -> None:
        key, selector = service.key, service.spec.selector
        if self._services.get(key) == selector:
            return
        self.remove_service(key)
        self._services[key] = selector
        pods = PodSelector(LabelSelector.of_labels(selector), frozenset({key.namespace}))
        self._selecting.add(key, pods)
        self.stamp += 1

    def remove_service(self, key: ObjectKey) -> None:
        if self._services.pop(key, None) is not None:
            self._selecting.remove(key)
            self.stamp += 1

    def put(self, workload: SelectingWorkload) -> None:
        key, selector = workload_key(workload), selector_of(workload)
        if self._workloads.get(key) == selector:
            return
        self.stamp += 1
        if selector is None:
            del self._workloads[key]
        else:
            self._workloads[key] = selector

    def remove(self, workload: SelectingWorkload) -> None:
        if self._workloads.pop(workload_key(workload), None) is not None:
            self.stamp += 1

    def fork(self) -> "WorkloadSelectors":
        twin = WorkloadSelectors()
        twin._services, twin._workloads = self._services.copy(), self._workloads.copy()
        twin._selecting, twin.stamp = self._selecting.fork(), self.stamp
        return twin
