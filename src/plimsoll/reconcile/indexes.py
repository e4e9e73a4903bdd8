"""Indexes that several loops and processes read: one name, one function."""

from collections.abc import Iterable

from plimsoll.api.pods import Pod

PODS_BY_CLAIM = "claim"
PODS_BY_NODE = "node"


def claims_of(pod: Pod) -> Iterable[str]:
    """Also those that ephemeral volumes will have."""
    return (str(claim) for claim in pod.claims)


def node_of(pod: Pod) -> Iterable[str]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()
