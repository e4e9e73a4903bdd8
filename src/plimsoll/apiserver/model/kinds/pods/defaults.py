"""What the API fills in when a pod or a pod template leaves it out.

Templates get less than pods: what only a pod needs (requests from limits, ports of the host) is
filled in when the pod is made from the template.
"""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.images import default_pull_policy
from plimsoll.apiserver.model.kinds.pods.totals import default_pod_resources
from plimsoll.apiserver.model.kinds.pods.volumes.defaults import default_volume
from plimsoll.apiserver.model.kinds.quantities import round_up_resources

SPEC_DEFAULTS = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
}
CONTAINER_DEFAULTS = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
PROBE_DEFAULTS = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
GRACE_PERIOD_SECONDS = 30
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")


def fill(document: Document, defaults: Document) -> None:
    """Set what is missing or has its type's zero value, which the API does not tell apart."""
    for key, value in defaults.items():
        if not document.get(key):
            document[key] = value


def all_containers(spec: Document) -> Iterator[Document]:
    for name in CONTAINER_LISTS:
        yield from spec.get(name) or []


def default_pod(pod: Document) -> None:
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        _request_limits(container)
        if spec.get("hostNetwork"):
            _open_ports_on_host(container)
    default_pod_resources(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    _agree_on_pod_ip(pod.get("status") or {})


def default_template(template: Document) -> None:
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Document) -> None:
    fill(spec, SPEC_DEFAULTS)
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", GRACE_PERIOD_SECONDS)
    _agree_on_service_account(spec)
    for volume in spec.get("volumes") or []:
        default_volume(volume)
    for container in all_containers(spec):
        default_container(container)
    round_up_resources(spec.get("overhead") or {})
    _round_up(spec.get("resources") or {})


def default_container(container: Document) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image", ""))
    fill(container, CONTAINER_DEFAULTS)
    _round_up(container.setdefault("resources", {}))
    for port in container.get("ports") or []:
        fill(port, {"protocol": "TCP"})
    for variable in container.get("env") or []:
        _default_variable(variable)
    for name in PROBES:
        if name in container:
            fill(container[name], PROBE_DEFAULTS)
            _default_handler(container[name])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _default_handler(handler)


def _default_handler(handler: Document) -> None:
    if "httpGet" in handler:
        fill(handler["httpGet"], {"path": "/", "scheme": "HTTP"})
    if "grpc" in handler:
        handler["grpc"].setdefault("service", "")


def _default_variable(variable: Document) -> None:
    source = variable.get("valueFrom") or {}
    if "fieldRef" in source:
        fill(source["fieldRef"], {"apiVersion": "v1"})
    if "fileKeyRef" in source:
        source["fileKeyRef"].setdefault("optional", False)


def _round_up(resources: Document) -> None:
    for kind in ("limits", "requests"):
        round_up_resources(resources.get(kind) or {})


def _request_limits(container: Document) -> None:
    """A container that limits a resource and does not request it requests as much as the limit."""
    resources = container["resources"]
    if resources.get("limits"):
        requests = resources.setdefault("requests", {})
        for name, quantity in resources["limits"].items():
            requests.setdefault(name, quantity)


def _open_ports_on_host(container: Document) -> None:
    for port in container.get("ports") or []:
        if port.get("containerPort"):
            fill(port, {"hostPort": port["containerPort"]})


def _agree_on_service_account(spec: Document) -> None:
    """The field has an old name, which is always shown next to the new one."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _agree_on_pod_ip(status: Document) -> None:
    """`podIP` is the first of `podIPs`; a client that knows only the former is believed."""
    first = status.get("podIP")
    addresses = status.get("podIPs") or []
    if first and (not addresses or addresses[0].get("ip") != first):
        status["podIPs"] = [{"ip": first}]
    elif addresses and not first:
        status["podIP"] = addresses[0].get("ip", "")
