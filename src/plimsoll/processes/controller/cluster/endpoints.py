"""Writes the Endpoints and EndpointSlices of services: `decide.cluster.endpoints` for each."""

from collections.abc import Iterable
from datetime import timedelta

from plimsoll.api.core import Node, Service
from plimsoll.api.meta import ObjectKey
from plimsoll.api.networking import Endpoints, EndpointSlice
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.cache.store import StoreChange
from plimsoll.decide.cluster.endpoints.backends import selects_pods
from plimsoll.decide.cluster.endpoints.slices import SERVICE_NAME, decide_slices
from plimsoll.decide.cluster.endpoints.subsets import decide_end, decide_endpoints
from plimsoll.processes.controller.workloads.owners import BY_NAMESPACE, namespace_of
from plimsoll.reconcile.loop import Loop, Tools

BY_SERVICE = "service"


def service_of(slice_: EndpointSlice) -> Iterable[str]:
    name = slice_.metadata.labels.get(SERVICE_NAME)
    return (f"{slice_.namespace}/{name}",) if name else ()


class EndpointLists(Loop):
    name = "endpoints"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        observed = tools.observed
        self._services = observed.of(Service)
        self._services.index(BY_NAMESPACE, namespace_of)
        self._services.on_change(self.add_changed)
        self._pods = observed.of(Pod)
        self._pods.index(BY_NAMESPACE, namespace_of)
        self._pods.on_change(self._pod_changed)
        self._nodes = observed.of(Node)
        self._slices = observed.of(EndpointSlice)
        self._slices.index(BY_SERVICE, service_of)
        self._slices.on_change(self._slice_changed)
        self._endpoints = observed.of(Endpoints)
        self._endpoints.on_change(self.add_changed)

    # Which services have to be looked at

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        labels = [pod.labels for pod in (change.before, change.after) if pod is not None]
        services = self._services.view().by(BY_NAMESPACE, change.key.namespace)
        for key, service in services.items():
            if selects_pods(service):
                selector = LabelSelector.of_labels(service.spec.selector)
                if any(selector.matches(each) for each in labels):
                    self.queue.add(key)

    def _slice_changed(self, change: StoreChange[EndpointSlice]) -> None:
        for slice_ in (change.before, change.after):
            if slice_ is not None:
                for text in service_of(slice_):
                    self.queue.add(ObjectKey.parse(text))

    # One service

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        service, held = self._services.view().get(key), self._endpoints.view().get(key)
        if service is None:
            await self.enact(key, decide_end(key, held))
            return None
        if service.is_being_deleted:
            return None
        pods = self._selected(service) if selects_pods(service) else []
        slices = self._slices.view().by(BY_SERVICE, str(key)).values()
        await self.enact(key, decide_slices(service, pods, slices, self._node))
        if selects_pods(service):
            await self.enact(key, decide_endpoints(service, pods, held))
        else:
            await self.enact(key, decide_end(key, held))
        return None

    def _selected(self, service: Service) -> list[Pod]:
        selector = LabelSelector.of_labels(service.spec.selector)
        pods = self._pods.view().by(BY_NAMESPACE, service.namespace).values()
        return [pod for pod in pods if selector.matches(pod.labels)]

    def _node(self, name: str) -> Node | None:
        return self._nodes.view().get(ObjectKey("", name))
