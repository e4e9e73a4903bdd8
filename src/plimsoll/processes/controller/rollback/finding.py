"""Finds pods that only their unused volumes keep from running, in what watches have shown."""

from collections.abc import Iterator
from datetime import timedelta

from plimsoll.api.core import Namespace, Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.rollback.objections import find_lasting
from plimsoll.decide.rollback.relocation import (
    BoundPair,
    Relocation,
    decide_relocation,
    has_waited,
    is_under_way,
)
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.refusals import find_refused_node
from plimsoll.reconcile.indexes import PODS_BY_CLAIM, claims_of
from plimsoll.reconcile.observed import Observed
from plimsoll.runtime.clock import Clock

REFUSED_FOR = timedelta(minutes=10)
"""How long a node counts as one where a provisioner does not make a volume."""


class Finder:
    def __init__(self, observed: Observed, clock: Clock, after: timedelta) -> None:
        self._clock = clock
        self._after = after
        self._pods, self._claims = observed.of(Pod), observed.of(PersistentVolumeClaim)
        self._volumes, self._classes = observed.of(PersistentVolume), observed.of(StorageClass)
        self._nodes, self._drivers = observed.of(Node), observed.of(CSIDriver)
        self._csi_nodes = observed.of(CSINode)
        self._capacities = observed.of(CSIStorageCapacity)
        self._attachments = observed.of(VolumeAttachment)
        self._namespaces = observed.of(Namespace)
        self._pods.index(PODS_BY_CLAIM, claims_of)
        self._claims.on_change(self._claim_changed)
        self._refused: dict[str, dict[str, float]] = {}
        """By uid of the claim: when which node was refused last."""

    def relocations(self) -> Iterator[Relocation]:
        """By namespace and name of the pods. The cluster is put into columns once, if at all."""
        kernel: Kernel | None = None
        for pod in sorted(self._waiting(), key=lambda each: each.key):
            pairs = self._pairs(pod)
            if not pairs:
                continue
            kernel = kernel or self._kernel()
            found = decide_relocation(pod, kernel, pairs, self._refused_to(pod))
            if found is not None:
                yield found

    def _waiting(self) -> Iterator[Pod]:
        now = self._clock.now()
        for pod in self._pods.view().objects.values():
            if has_waited(pod, now, self._after):
                yield pod

    def _pairs(self, pod: Pod) -> dict[ObjectKey, BoundPair]:
        """The claims of the pod whose volumes may be taken back, as far as watches can tell."""
        view = self._claims.view()
        claims = [claim for key in pod.claims if (claim := view.get(key)) is not None]
        if len(claims) < len(pod.claims) or is_under_way(claims):
            return {}
        pairs: dict[ObjectKey, BoundPair] = {}
        for claim in claims:
            volume = self._volumes.view().get(ObjectKey("", claim.spec.volume_name))
            storage_class = self._classes.view().get(ObjectKey("", claim.storage_class))
            is_kept = volume is None or find_lasting(volume, claim, storage_class) is not None
            if volume is not None and not is_kept and not self._is_shared(claim, pod):
                pairs[claim.key] = BoundPair(claim=claim, volume=volume)
        return pairs

    def _is_shared(self, claim: PersistentVolumeClaim, pod: Pod) -> bool:
        users = self._pods.view().by(PODS_BY_CLAIM, str(claim.key)).values()
        return any(user.uid != pod.uid and not user.is_finished for user in users)

    def _kernel(self) -> Kernel:
        return Kernel(Columns.of(self._objects()))

    def _objects(self) -> Iterator[ApiObject]:
        """Everything that scheduling looks at."""
        yield from self._nodes.view().objects.values()
        yield from self._pods.view().objects.values()
        yield from self._claims.view().objects.values()
        yield from self._volumes.view().objects.values()
        yield from self._classes.view().objects.values()
        yield from self._drivers.view().objects.values()
        yield from self._csi_nodes.view().objects.values()
        yield from self._capacities.view().objects.values()
        yield from self._attachments.view().objects.values()
        yield from self._namespaces.view().objects.values()

    def _claim_changed(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        node = find_refused_node(change.before, change.after)
        if node is not None and change.after is not None:
            refused = self._refused.setdefault(change.after.uid, {})
            refused[node] = self._clock.monotonic()
        elif change.before is not None and change.after is None:
            self._refused.pop(change.before.uid, None)

    def _refused_to(self, pod: Pod) -> frozenset[str]:
        limit = self._clock.monotonic() - REFUSED_FOR.total_seconds()
        view = self._claims.view()
        uids = [claim.uid for key in pod.claims if (claim := view.get(key)) is not None]
        return frozenset(
            node for uid in uids for node, at in self._refused.get(uid, {}).items() if at > limit
        )
