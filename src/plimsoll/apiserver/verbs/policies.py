"""Writes that policies have a say in: decided on the event loop as long as that is soon done.

The decision is made on a draft. Where the policies would take too long it stops, nothing of it has
happened, and the write is decided anew beside the event loop.
"""

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from plimsoll.apiserver.admission.policies.index import BINDINGS
from plimsoll.apiserver.model.policies.kinds import GROUP
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.drafts import Draft

T = TypeVar("T")


def are_bound(cluster: StoredCluster) -> bool:
    """Whether there are policies at all that could be evaluated."""
    return not cluster.revisions.collection(f"{BINDINGS}.{GROUP}").is_empty


def decide_briefly(cluster: StoredCluster, decide: Callable[[StoredCluster], T]) -> T:
    """What the decision returns, once it is staged.

    Raises ApiError, and PolicyTimeNeededError when it has to be made elsewhere.
    """
    draft = Draft(cluster.revisions)
    decided = decide(replace(cluster.with_draft(draft), policies=cluster.policies.brief()))
    draft.commit()
    return decided
