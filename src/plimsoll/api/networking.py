"""The addresses behind services: EndpointSlices, and the older Endpoints."""

from plimsoll.api.meta import ApiObject, ApiStruct


class EndpointTarget(ApiStruct, frozen=True, kw_only=True):
    """The object behind an address."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EndpointPort(ApiStruct, frozen=True, kw_only=True):
    name: str = ""
    port: int = 0
    protocol: str = ""
    app_protocol: str | None = None


class EndpointConditions(ApiStruct, frozen=True, kw_only=True):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class SliceEndpoint(ApiStruct, frozen=True, kw_only=True):
    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    hostname: str | None = None
    node_name: str | None = None
    target_ref: EndpointTarget | None = None
    zone: str | None = None


class EndpointSlice(ApiObject, frozen=True, kw_only=True):
    address_type: str = ""
    endpoints: tuple[SliceEndpoint, ...] = ()
    ports: tuple[EndpointPort, ...] = ()


class EndpointAddress(ApiStruct, frozen=True, kw_only=True):
    ip: str = ""
    hostname: str = ""
    node_name: str | None = None
    target_ref: EndpointTarget | None = None


class EndpointSubset(ApiStruct, frozen=True, kw_only=True):
    """Addresses that have the same ports."""

    addresses: tuple[EndpointAddress, ...] = ()
    not_ready_addresses: tuple[EndpointAddress, ...] = ()
    ports: tuple[EndpointPort, ...] = ()


class Endpoints(ApiObject, frozen=True, kw_only=True):
    subsets: tuple[EndpointSubset, ...] = ()
