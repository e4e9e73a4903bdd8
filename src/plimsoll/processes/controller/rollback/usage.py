"""Whether any pod can have used a volume since it was made, for drivers that cannot tell.

One watch of pods, attachments and volumes, without a gap, has seen everything that happened since
it began. A volume that was made later than that, and whose claim no pod with a node has named, is
unused. A watch that had to list anew may have missed something: from then on it is another watch,
and knows nothing of the volumes there are. So does every other process, and every later leader.
"""

from collections.abc import Callable, Mapping

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import VolumeAttachment
from plimsoll.api.volumes import PersistentVolume
from plimsoll.cache.store import StoreChange
from plimsoll.decide.claims.match import is_reachable
from plimsoll.decide.rollback.steps import Doubt
from plimsoll.reconcile.indexes import PODS_BY_CLAIM, claims_of
from plimsoll.reconcile.observed import Observed
from plimsoll.runtime.ids import Ids

Versions = tuple[int, int, int]


class UsageWatch:
    def __init__(self, observed: Observed, ids: Ids) -> None:
        self._ids = ids
        self._pods, self._attachments = observed.of(Pod), observed.of(VolumeAttachment)
        self._volumes = observed.of(PersistentVolume)
        self._pods.index(PODS_BY_CLAIM, claims_of)
        self._pods.on_change(self._pod_changed)
        self._attachments.on_change(self._attachment_changed)
        self._volumes.on_change(self._volume_changed)
        self.on_news: Callable[[str], None] = lambda _volume: None
        """Called with the name of a volume that was made, or used."""
        self._began: Versions | None = None
        self._id = ""
        self._nodes_by_claim: dict[ObjectKey, set[str]] = {}
        """Of pods that named the claim."""
        self._attached: set[str] = set()
        """Names of volumes that were."""
        self._made: dict[str, str] = {}
        """Volumes that were made since this watch began, by uid."""

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
        for name in sorted(self._nodes_of_users(volume)):
            node = nodes.get(name)
            if node is None or is_reachable(volume, node.labels):
                why = f"a pod that named its claim had node {name}, which reaches it"
                return Doubt(why=why, is_use=True)
        return None

    def _nodes_of_users(self, volume: PersistentVolume) -> set[str]:
        claim = volume.spec.claim
        if claim is None:
            return set()
        users = self._pods.view().by(PODS_BY_CLAIM, str(claim)).values()
        return self._nodes_by_claim.get(claim, set()) | {
            pod.spec.node_name for pod in users if pod.spec.node_name
        }

    def has_passed(self, pods_version: str, attachments_version: str) -> bool:
        """Whether the watches have told everything up to these versions."""
        pods, attachments = self._pods.informer, self._attachments.informer
        if pods is None or attachments is None:
            return False
        return _reaches(pods.position, pods_version) and _reaches(
            attachments.position, attachments_version
        )

    def _notice_gap(self) -> None:
        now = self._listed()
        if now != self._began:
            self._began = now
            self._id = self._ids.uid() if now is not None else ""
            self._nodes_by_claim.clear()
            self._attached.clear()
            self._made.clear()

    def _listed(self) -> Versions | None:
        """None: not everything was listed, or the versions cannot be compared."""
        informers = (self._pods.informer, self._attachments.informer, self._volumes.informer)
        texts = [informer.listed_version if informer else "" for informer in informers]
        if not all(text.isdecimal() for text in texts):
            return None
        pods, attachments, volumes = map(int, texts)
        return pods, attachments, volumes

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
        if before is None and after is not None and self._is_new(after):
            self._made[after.uid] = after.name
            self.on_news(after.name)
        elif before is not None and after is None:
            self._made.pop(before.uid, None)

    def _is_new(self, volume: PersistentVolume) -> bool:
        version = volume.metadata.resource_version
        return self._began is not None and version.isdecimal() and int(version) > max(self._began)


def _reaches(position: str, version: str) -> bool:
    both_known = position.isdecimal() and version.isdecimal()
    return both_known and int(position) >= int(version)
