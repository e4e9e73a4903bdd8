"""Where a webhook listens: at its URL, or at an address of its Service.

There is no network of Services here. The address is the external name of the Service, `localhost`
for one, or a ready one of its EndpointSlices, which this machine then has to reach.
"""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Reader
from plimsoll.apiserver.admission.webhooks.calls import WebhookEndpoint

SERVICE_LABEL = "kubernetes.io/service-name"


def find_endpoint(client: Document, reader: Reader) -> WebhookEndpoint:
    """Raises LookupError when the Service has no address."""
    if client.get("url"):
        return WebhookEndpoint(client["url"])
    service = client["service"]
    namespace, name = service["namespace"], service["name"]
    stored = reader.get("", "services", namespace, name)
    if stored is None:
        raise LookupError(f'service "{name}" not found in namespace "{namespace}"')
    wanted, path = service.get("port", 443), service.get("path") or "/"
    host = f"{name}.{namespace}.svc"
    spec = stored.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return WebhookEndpoint(f"https://{spec['externalName']}:{wanted}{path}", host)
    port = _port(stored, wanted)
    if port is None:
        raise LookupError(f'service "{namespace}/{name}" has no port {wanted}')
    address = next(_addresses(reader, namespace, name, port), None)
    if address is None:
        raise LookupError(f'no endpoints available for service "{name}" in "{namespace}"')
    return WebhookEndpoint(f"https://{address}{path}", host)


def _port(service: Document, wanted: int) -> Document | None:
    ports = (service.get("spec") or {}).get("ports") or ()
    return next((port for port in ports if port.get("port") == wanted), None)


def _addresses(reader: Reader, namespace: str, name: str, port: Document) -> Iterator[str]:
    for item in reader.list("discovery.k8s.io", "endpointslices", namespace):
        if (item["metadata"].get("labels") or {}).get(SERVICE_LABEL) == name:
            for number in _numbers(item, port):
                for endpoint in item.get("endpoints") or ():
                    if (endpoint.get("conditions") or {}).get("ready", True):
                        for address in endpoint.get("addresses") or ():
                            host = f"[{address}]" if ":" in address else address
                            yield f"{host}:{number}"


def _numbers(item: Document, port: Document) -> Iterator[int]:
    """The port in the slice that has the name of the Service's, or its number."""
    for offered in item.get("ports") or ():
        if offered.get("port") and (offered.get("name") or "") == (port.get("name") or ""):
            yield offered["port"]
