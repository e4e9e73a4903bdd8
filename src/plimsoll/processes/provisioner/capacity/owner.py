"""The owner of the capacity objects: the pod we run in, or a controller above it.

The objects are deleted with their owner, so that uninstalling a driver leaves none behind.
"""

from typing import Any

import msgspec

from plimsoll.api.meta import ObjectKey, OwnerReference
from plimsoll.api.registry import resources_by_kind
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.runtime.config import ConfigError
from plimsoll.wire.kind import documents
from plimsoll.wire.kube import KubeClient

POD = ("v1", "Pod")


async def find_owner(settings: ProvisionerFlags, client: KubeClient) -> OwnerReference | None:
    """Raises KubeError when it cannot be read, ConfigError when there is none so high up."""
    level = settings.capacity_ownerref_level
    if level < 0:
        return None
    key = ObjectKey(settings.namespace, settings.pod_name)
    if level == 0:
        pod = await _read(client, POD, key)
        return _reference(*POD, pod["metadata"]["name"], pod["metadata"]["uid"])
    owner = await _above(client, POD, key)
    for _ in range(level - 1):
        key = ObjectKey(settings.namespace, owner.name)
        owner = await _above(client, (owner.api_version, owner.kind), key)
    return owner


async def _above(client: KubeClient, what: tuple[str, str], key: ObjectKey) -> OwnerReference:
    """The controller of an object; the object says who that is, so it need not be read itself."""
    found = _controller_of(await _read(client, what, key))
    if found is None:
        raise ConfigError(
            f"--capacity-ownerref-level: {what[1]} {key} has no controller; use a lower level"
        )
    return _reference(found["apiVersion"], found["kind"], found["name"], found["uid"])


def _controller_of(object_: dict[str, Any]) -> dict[str, Any] | None:
    references = object_["metadata"].get("ownerReferences") or ()
    return next((reference for reference in references if reference.get("controller")), None)


def _reference(api_version: str, kind: str, name: str, uid: str) -> OwnerReference:
    document = {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
    }
    return msgspec.convert(document, OwnerReference)


async def _read(client: KubeClient, what: tuple[str, str], key: ObjectKey) -> dict[str, Any]:
    group, _, version = what[0].rpartition("/")
    resource = resources_by_kind().get((group, version, what[1]))
    if resource is None:
        raise ConfigError(f"--capacity-ownerref-level: owners of kind {what[1]} are not known")
    return await client.get(documents(resource), key)
