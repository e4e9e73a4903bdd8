"""Which writes would hold the event loop too long: they are decided beside it, on a draft.

What a write costs depends on the number of values in it more than on its bytes: 32 KiB can be one
long string, or ten thousand empty objects of which each is wrong in five ways. Some writes read
more than their own object, and some compare all that their user may do.
"""

from plimsoll.api.registry import Resource
from plimsoll.apiserver.access.rbac.index import GROUP as ROLES_GROUP
from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.http.negotiation import PROTOBUF, body_type, is_slow_format
from plimsoll.apiserver.http.requests import Target
from plimsoll.apiserver.model.custom.served_kind import CustomResource, ServedVersion
from plimsoll.apiserver.model.policies.kinds import GROUP
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.definitions.definition_status import definitions_kind
from plimsoll.apiserver.storage.heavy_work import (
    HEAVY_BYTES,
    HEAVY_STEPS,
    HEAVY_VALUES,
    SLOW_FORMAT_BYTES,
)
from plimsoll.apiserver.storage.resource_kinds import ResourceKind
from plimsoll.wire.transport import Request

QUOTAS, RANGES, BUDGETS = "resourcequotas", "limitranges", "poddisruptionbudgets.policy"
OF_A_NAMESPACE = frozenset({QUOTAS, RANGES, BUDGETS})
READ_ALONG = {
    ("pods", ""): (RANGES, "priorityclasses.scheduling.k8s.io"),
    ("pods", "eviction"): (BUDGETS,),
    ("pods", "resize"): (RANGES,),
    ("persistentvolumeclaims", ""): (RANGES, "storageclasses.storage.k8s.io"),
    ("ingresses.networking.k8s.io", ""): ("ingressclasses.networking.k8s.io",),
}
"""What each write of a resource, or of a part of it, reads besides its own object; quotas are read
in every namespace."""
MUCH_READ = 128 * 1024
"""So many bytes of other objects are read in about 10 ms."""
SERVICES, MANY_SERVICES = "services", 5000
"""A service gets addresses that none of the others has: so many can be looked at in 20 ms."""
SHORT = bytes(range(5))
"""Lengths of what protobuf holds in a few bytes; a value that is longer takes LONGER at least."""
LONGER = 7


def is_heavy(request: Request, kind: ResourceKind, stored: StoredRecord | None) -> bool:
    """What the request brings and what is stored would take the event loop too long."""
    held = b"" if stored is None else stored.raw
    size = len(request.body) + len(held)
    if kind.custom is not None and _takes_long(kind.custom, size):
        return True
    if size > _heavy_bytes(kind, body_type(request)):
        return True
    # Most writes are too small for the question.
    if size <= HEAVY_VALUES:
        return False
    brought = _most_packed if body_type(request) == PROTOBUF else most_values
    return brought(request.body) + most_values(held) > HEAVY_VALUES


def compares_rules(kind: ResourceKind, user: User) -> bool:
    """All rules that the user holds are listed, or compared with others: those may be many."""
    resource = kind.resource
    if resource.group == ROLES_GROUP:
        return not user.is_admin
    return resource.kind == "SelfSubjectRulesReview"


def reads_much(cluster: StoredCluster, kind: ResourceKind, target: Target) -> bool:
    """Other objects that the decision reads are so many, or so large, that it takes long."""
    if kind.collection == SERVICES and len(cluster.collection(kind)) > MANY_SERVICES:
        return True
    read = 0
    for name in _read_along(kind.collection, target):
        collection = cluster.versions.collection(name)
        prefix = f"{target.namespace}/" if name in OF_A_NAMESPACE else ""
        for record in () if collection.is_empty else collection.newest_records(prefix):
            read += len(record.raw)
            if read > MUCH_READ:
                return True
    return False


def _read_along(collection: str, target: Target) -> tuple[str, ...]:
    others = READ_ALONG.get((collection, target.subresource), ())
    return (*others, QUOTAS) if target.namespace else others


def most_values(text: bytes) -> int:
    """No fewer than there are values in JSON or YAML: each begins with one of these, or comes after
    one. An object counts twice, because it costs more than a string."""
    return sum(map(text.count, (b",", b"{", b"[", b"\n")))


def _most_packed(body: bytes) -> int:
    """The same for protobuf, about: the short ones are counted, the others have their length."""
    short = len(body) - len(body.translate(None, SHORT))
    return short + len(body) // LONGER


def _heavy_bytes(kind: ResourceKind, media_type: str) -> int:
    # Policies hold expressions, and definitions rules, which take long to compile.
    is_compiled = kind is definitions_kind() or kind.resource.group == GROUP
    if is_compiled or kind.custom is not None or is_slow_format(media_type):
        return SLOW_FORMAT_BYTES
    return HEAVY_BYTES


def _takes_long(kind: ServedVersion, size: int) -> bool:
    """The rules of a custom kind may look at much."""
    return kind.effort.steps(size) > HEAVY_STEPS


def is_large_schema(resource: Resource) -> bool:
    """It is compiled with the first request for the resource, which takes long."""
    if not isinstance(resource, CustomResource) or resource.served.is_compiled:
        return False
    return resource.served.size > SLOW_FORMAT_BYTES
