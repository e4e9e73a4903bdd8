"""Pools that say themselves which domain they are near, so that no class has to list them.

They say so in the metadata of their application, which the user of a driver may read for all pools
at once:

    ceph osd pool application set rbd-zone-b rbd plimsoll.domain.zone b

A pool for a new domain is used as soon as it is labelled. Pools of one group serve one class.
"""

from collections.abc import Mapping

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, DomainSegment

DOMAIN = "plimsoll.domain."
DATA_POOL = "plimsoll.data-pool"
GROUP = "plimsoll.group"

PoolMetadata = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Values by pool, application and key."""


def labelled_pools(
    metadata: PoolMetadata, *, application: str, group: str = "", cluster_id: str = ""
) -> tuple[ConstrainedPool, ...]:
    """The pools of the application and group that are near some domain, by their names."""
    found = []
    for name in sorted(metadata):
        labels = metadata[name].get(application, {})
        segments = _segments(labels)
        if segments and labels.get(GROUP, "") == group:
            found.append(
                ConstrainedPool(
                    name=name,
                    data_pool=labels.get(DATA_POOL, ""),
                    segments=segments,
                    cluster_id=cluster_id,
                )
            )
    return tuple(found)


def _segments(labels: Mapping[str, str]) -> tuple[DomainSegment, ...]:
    """Labels without a value say nothing."""
    return tuple(
        DomainSegment(key.removeprefix(DOMAIN), labels[key])
        for key in sorted(labels)
        if key.startswith(DOMAIN) and key != DOMAIN and labels[key]
    )
