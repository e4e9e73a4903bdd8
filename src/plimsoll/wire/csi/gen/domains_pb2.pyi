from plimsoll.wire.csi.gen import csi_pb2 as _csi_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FenceDomainRequest(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: _csi_pb2.Topology
    def __init__(self, domain: _Optional[_Union[_csi_pb2.Topology, _Mapping]] = ...) -> None: ...

class FenceDomainResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ConfirmFenceRequest(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: _csi_pb2.Topology
    def __init__(self, domain: _Optional[_Union[_csi_pb2.Topology, _Mapping]] = ...) -> None: ...

class ConfirmFenceResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReleaseDomainRequest(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: _csi_pb2.Topology
    def __init__(self, domain: _Optional[_Union[_csi_pb2.Topology, _Mapping]] = ...) -> None: ...

class ReleaseDomainResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetDomainRequest(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: _csi_pb2.Topology
    def __init__(self, domain: _Optional[_Union[_csi_pb2.Topology, _Mapping]] = ...) -> None: ...

class GetDomainResponse(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: Domain
    def __init__(self, domain: _Optional[_Union[Domain, _Mapping]] = ...) -> None: ...

class ListDomainsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListDomainsResponse(_message.Message):
    __slots__ = ("domains",)
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    domains: _containers.RepeatedCompositeFieldContainer[Domain]
    def __init__(self, domains: _Optional[_Iterable[_Union[Domain, _Mapping]]] = ...) -> None: ...

class Domain(_message.Message):
    __slots__ = ("domain", "fenced", "pools", "storage", "nodes")
    class Condition(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[Domain.Condition]
        UP: _ClassVar[Domain.Condition]
        DOWN: _ClassVar[Domain.Condition]
    UNKNOWN: Domain.Condition
    UP: Domain.Condition
    DOWN: Domain.Condition
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    FENCED_FIELD_NUMBER: _ClassVar[int]
    POOLS_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    domain: _csi_pb2.Topology
    fenced: bool
    pools: _containers.RepeatedCompositeFieldContainer[DomainPool]
    storage: Domain.Condition
    nodes: Domain.Condition
    def __init__(self, domain: _Optional[_Union[_csi_pb2.Topology, _Mapping]] = ..., fenced: _Optional[bool] = ..., pools: _Optional[_Iterable[_Union[DomainPool, _Mapping]]] = ..., storage: _Optional[_Union[Domain.Condition, str]] = ..., nodes: _Optional[_Union[Domain.Condition, str]] = ...) -> None: ...

class DomainPool(_message.Message):
    __slots__ = ("name", "size", "min_size", "inside")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    MIN_SIZE_FIELD_NUMBER: _ClassVar[int]
    INSIDE_FIELD_NUMBER: _ClassVar[int]
    name: str
    size: int
    min_size: int
    inside: int
    def __init__(self, name: _Optional[str] = ..., size: _Optional[int] = ..., min_size: _Optional[int] = ..., inside: _Optional[int] = ...) -> None: ...
