"""Patches without patching, for roles that let a program replace an object but not patch it.

The object is read, changed by the patch, and replaced on the condition that it has not changed in
between. Fields that the patch does not name stay as they are, also those that we do not model.
"""

from plimsoll.api.patch import merge_patch
from plimsoll.api.registry import Document
from plimsoll.decide.plan import Patch
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import Kind
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import WriteOptions


async def replace_patched(
    client: KubeClient, kind: Kind[Document], write: Patch, version: str
) -> Document:
    """`version` is the one that the object must have now; empty: any. Raises KubeError."""
    current = await client.get(kind, write.key)
    metadata = current["metadata"]
    wanted = {"resourceVersion": version, "uid": write.uid}
    for name, value in wanted.items():
        if value and metadata.get(name) != value:
            raise KubeError(
                Failure.CONFLICT,
                f"{write.resource} {write.key} is not the one that was seen: another {name}",
            )
    changed = merge_patch.apply(current, write.patch)
    return await client.update(kind, changed, WriteOptions(subresource=write.subresource))
