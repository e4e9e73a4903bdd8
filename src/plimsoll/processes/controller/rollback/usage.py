"""Whether any pod can have used a volume since it was made, for drivers that cannot tell.

One watch of pods, attachments, volumes, claims and nodes, without a gap, has seen everything that
happened since it began. A volume that was made later than that is unused if no other volume object
was about the same storage, and no pod that named its claim had a node which reaches it, by the
labels that the node has or has had. A watch that had to list anew may have missed something: from
then on it is another watch, and knows nothing of the volumes there are. So does every other
process, and every later leader.

An administrator may delete the object of a volume and make it again: then the object is new, and
the data is not. A claim that names a volume names it for ever, so its watch has to have seen the
claim without one: no pod has used anything through that claim before.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import VolumeAttachment
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.informer import Informer
from plimsoll.cache.store import StoreChange
from plimsoll.decide.claims.match import is_reachable
from plimsoll.decide.rollback.objections import RollbackObjection, storage_of
from plimsoll.decide.rollback.steps import Doubt
from plimsoll.reconcile.indexes import PODS_BY_CLAIM, claims_of
from plimsoll.reconcile.observed import Observed
from plimsoll.runtime.ids import Ids

Labels = Mapping[str, str]


class SeenVersions(NamedTuple):
    """Of what a list has shown."""

    pods: str
    attachments: str
    volumes: str
    nodes: str


class UsageWatch:
    def __init__(self, observed: Observed, ids: Ids) -> None:
        self._ids = ids
        self._pods, self._attachments = observed.of(Pod), observed.of(VolumeAttachment)
        self._volumes, self._nodes = observed.of(PersistentVolume), observed.of(Node)
        self._claims = observed.of(PersistentVolumeClaim)
        self._pods.index(PODS_BY_CLAIM, claims_of)
        self._claims.on_change(self._claim_changed)
        self._pods.on_change(self._pod_changed)
        self._attachments.on_change(self._attachment_changed)
        self._volumes.on_change(self._volume_changed)
        self._nodes.on_change(self._node_changed)
        self.on_news: Callable[[str], None] = lambda _volume: None
        """Called with the name of a volume that was made, or used."""
        self._began: tuple[int, ...] | None = None
        self._id = ""
        self._nodes_by_claim: dict[ObjectKey, set[str]] = {}
        """Of pods that named the claim."""
        self._attached: set[str] = set()
        """Names of volumes that were."""
        self._made: dict[str, str] = {}
        """Volumes that were made since this watch began, by uid."""
        self._without_volume: set[str] = set()
        """Uids of claims that had none when this watch had begun."""
        self._about: dict[tuple[str, str], set[str]] = {}
        """By what is at the driver, the uids of volumes that were about it."""
        self._labels: dict[str, list[Labels]] = {}
        """By node, what its labels were before and after each change of them."""

    @property
    def id(self) -> str:
        """Another one after every gap; empty: it has not begun."""
        self._notice_gap()
        return self._id

    def find_doubt(self, volume: PersistentVolume, nodes: Mapping[str, Node]) -> Doubt | None:
        """None: no pod has used the volume, up to the positions of the watches."""
        self._notice_gap()
        if self._made.get(volume.uid) != volume.name:
            return Doubt(why="this controller has not watched without a gap since it was made")
        if volume.name in self._attached:
            return Doubt(why="it was attached to a node", is_use=True)
        storage = storage_of(volume)
        if storage is not None and self._about.get(storage, set()) - {volume.uid}:
            return Doubt(why=RollbackObjection.HAS_TWIN.value, is_use=True)
        for name in sorted(self._nodes_of_users(volume)):
            node = nodes.get(name)
            labels = [*self._labels.get(name, ()), *([node.labels] if node else ())]
            if node is None or any(is_reachable(volume, each) for each in labels):
                why = f"a pod that named its claim had node {name}, which reaches it"
                return Doubt(why=why, is_use=True)
        if volume.spec.claim_uid not in self._without_volume:
            return Doubt(why="its claim may have had it before its object was made")
        return None

    def _nodes_of_users(self, volume: PersistentVolume) -> set[str]:
        claim = volume.spec.claim
        if claim is None:
            return set()
        users = self._pods.view().by(PODS_BY_CLAIM, str(claim)).values()
        return self._nodes_by_claim.get(claim, set()) | {
            pod.spec.node_name for pod in users if pod.spec.node_name
        }

    def has_passed(self, versions: SeenVersions) -> bool:
        """Whether the watches have told everything up to these versions."""
        positions = [informer.position if informer else "" for informer in self._informers]
        return all(map(_reaches, positions, versions))

    @property
    def _all_informers(self) -> tuple[Informer[Any] | None, ...]:
        return (*self._informers, self._claims.informer)

    @property
    def _informers(self) -> tuple[Informer[Any] | None, ...]:
        """As in `SeenVersions`."""
        cached = (self._pods, self._attachments, self._volumes, self._nodes)
        return tuple(each.informer for each in cached)

    def _notice_gap(self) -> None:
        now = self._listed()
        if now != self._began:
            self._began = now
            self._id = self._ids.uid() if now is not None else ""
            self._nodes_by_claim.clear()
            self._attached.clear()
            self._made.clear()
            self._without_volume.clear()
            self._about.clear()
            self._labels.clear()

    def _listed(self) -> tuple[int, ...] | None:
        """None: not everything was listed, or the versions cannot be compared."""
        informers = self._all_informers
        texts = [informer.listed_version if informer else "" for informer in informers]
        return tuple(map(int, texts)) if all(text.isdecimal() for text in texts) else None

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        self._notice_gap()
        for pod in (change.before, change.after):
            if pod is None or not pod.spec.node_name:
                continue
            for claim in pod.claims:
                self._nodes_by_claim.setdefault(claim, set()).add(pod.spec.node_name)
        pod = change.after or change.before
        if pod is not None and pod.spec.node_name and self._made:
            self._tell_of(set(pod.claims))

    def _tell_of(self, claims: set[ObjectKey]) -> None:
        view = self._volumes.view()
        for name in self._made.values():
            volume = view.get(ObjectKey("", name))
            if volume is not None and volume.spec.claim in claims:
                self.on_news(name)

    def _attachment_changed(self, change: StoreChange[VolumeAttachment]) -> None:
        self._notice_gap()
        for attachment in (change.before, change.after):
            if attachment is not None:
                self._attached |= set(attachment.volume_names)
                for name in attachment.volume_names:
                    self.on_news(name)

    def _volume_changed(self, change: StoreChange[PersistentVolume]) -> None:
        """What a list shows is not newer than the list: only the watch shows that one was made."""
        self._notice_gap()
        before, after = change.before, change.after
        for volume in (before, after):
            if volume is not None and (storage := storage_of(volume)):
                self._about.setdefault(storage, set()).add(volume.uid)
        if before is None and after is not None and self._is_new(after):
            self._made[after.uid] = after.name
            self.on_news(after.name)
        elif before is not None and after is None:
            self._made.pop(before.uid, None)
            self._without_volume.discard(before.spec.claim_uid)
        elif before is not None and after is not None and _is_moved(before, after):
            # Which nodes reached it before is not remembered.
            self._made.pop(after.uid, None)
            self.on_news(after.name)

    def _claim_changed(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        """It has no volume, or had none right before this change. One that is gone may still be
        asked about, as long as its volume is there."""
        self._notice_gap()
        before, after = change.before, change.after
        if after is None:
            if before is not None and not before.spec.volume_name:
                self._without_volume.discard(before.uid)
            return
        earlier = before if before is not None and before.uid == after.uid else after
        if self._is_new(after) and not earlier.spec.volume_name:
            self._without_volume.add(after.uid)
            if after.spec.volume_name:
                self.on_news(after.spec.volume_name)

    def _node_changed(self, change: StoreChange[Node]) -> None:
        self._notice_gap()
        seen = [each.labels for each in (change.before, change.after) if each is not None]
        known = self._labels.setdefault(change.key.name, [])
        known += [labels for labels in seen if labels not in known]

    def _is_new(self, object_: PersistentVolume | PersistentVolumeClaim) -> bool:
        version = object_.metadata.resource_version
        return self._began is not None and version.isdecimal() and int(version) > max(self._began)


def _is_moved(before: PersistentVolume, after: PersistentVolume) -> bool:
    return before.spec.required_nodes != after.spec.required_nodes


def _reaches(position: str, version: str) -> bool:
    both_known = position.isdecimal() and version.isdecimal()
    return both_known and int(position) >= int(version)
