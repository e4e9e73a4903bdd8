from plimsoll.wire.csi.gen import csi_pb2 as _csi_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListPoolsRequest(_message.Message):
    __slots__ = ("classes", "accessible_topology")
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    ACCESSIBLE_TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    classes: _containers.RepeatedCompositeFieldContainer[StorageClass]
    accessible_topology: _csi_pb2.Topology
    def __init__(self, classes: _Optional[_Iterable[_Union[StorageClass, _Mapping]]] = ..., accessible_topology: _Optional[_Union[_csi_pb2.Topology, _Mapping]] = ...) -> None: ...

class StorageClass(_message.Message):
    __slots__ = ("name", "parameters")
    class ParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    parameters: _containers.ScalarMap[str, str]
    def __init__(self, name: _Optional[str] = ..., parameters: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ListPoolsResponse(_message.Message):
    __slots__ = ("pools",)
    POOLS_FIELD_NUMBER: _ClassVar[int]
    pools: _containers.RepeatedCompositeFieldContainer[Pool]
    def __init__(self, pools: _Optional[_Iterable[_Union[Pool, _Mapping]]] = ...) -> None: ...

class Pool(_message.Message):
    __slots__ = ("name", "accessible_topology", "total_bytes", "free_extents", "costs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ACCESSIBLE_TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    FREE_EXTENTS_FIELD_NUMBER: _ClassVar[int]
    COSTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    accessible_topology: _containers.RepeatedCompositeFieldContainer[_csi_pb2.Topology]
    total_bytes: int
    free_extents: _containers.RepeatedCompositeFieldContainer[Extent]
    costs: _containers.RepeatedCompositeFieldContainer[Cost]
    def __init__(self, name: _Optional[str] = ..., accessible_topology: _Optional[_Iterable[_Union[_csi_pb2.Topology, _Mapping]]] = ..., total_bytes: _Optional[int] = ..., free_extents: _Optional[_Iterable[_Union[Extent, _Mapping]]] = ..., costs: _Optional[_Iterable[_Union[Cost, _Mapping]]] = ...) -> None: ...

class Extent(_message.Message):
    __slots__ = ("name", "free_bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FREE_BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    free_bytes: int
    def __init__(self, name: _Optional[str] = ..., free_bytes: _Optional[int] = ...) -> None: ...

class Cost(_message.Message):
    __slots__ = ("class_name", "copies", "shares", "unit_bytes", "overhead_bytes", "minimum_volume_size")
    CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    COPIES_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    UNIT_BYTES_FIELD_NUMBER: _ClassVar[int]
    OVERHEAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_VOLUME_SIZE_FIELD_NUMBER: _ClassVar[int]
    class_name: str
    copies: int
    shares: int
    unit_bytes: int
    overhead_bytes: int
    minimum_volume_size: int
    def __init__(self, class_name: _Optional[str] = ..., copies: _Optional[int] = ..., shares: _Optional[int] = ..., unit_bytes: _Optional[int] = ..., overhead_bytes: _Optional[int] = ..., minimum_volume_size: _Optional[int] = ...) -> None: ...

class DeleteNeverPublishedRequest(_message.Message):
    __slots__ = ("volume_id", "secrets")
    class SecretsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    VOLUME_ID_FIELD_NUMBER: _ClassVar[int]
    SECRETS_FIELD_NUMBER: _ClassVar[int]
    volume_id: str
    secrets: _containers.ScalarMap[str, str]
    def __init__(self, volume_id: _Optional[str] = ..., secrets: _Optional[_Mapping[str, str]] = ...) -> None: ...

class DeleteNeverPublishedResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetVolumeUseRequest(_message.Message):
    __slots__ = ("volume_id",)
    VOLUME_ID_FIELD_NUMBER: _ClassVar[int]
    volume_id: str
    def __init__(self, volume_id: _Optional[str] = ...) -> None: ...

class GetVolumeUseResponse(_message.Message):
    __slots__ = ("was_published", "in_use")
    WAS_PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    IN_USE_FIELD_NUMBER: _ClassVar[int]
    was_published: bool
    in_use: str
    def __init__(self, was_published: _Optional[bool] = ..., in_use: _Optional[str] = ...) -> None: ...
