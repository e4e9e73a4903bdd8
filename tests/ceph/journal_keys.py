"""What the directories of a journal hold of volumes, snapshots and fences."""

from plimsoll.decide.ceph.journal.fence_leaders import LEADER
from plimsoll.wire.ceph.objects import RadosObjects


async def passing_keys(objects: RadosObjects, name: str) -> dict[str, str]:
    """All but the newest leaders, which a journal remembers for good: tests share a cluster."""
    found = await objects.keys_from(name, "")
    return {key: value for key, value in found.items() if not key.startswith(LEADER)}
