"""Volumes that are held back for their pods, followed for the checks of `invariants`.

Four promises of docs/explanation/rollback.md are checked where they are made, because what a bug
here leads to may be mended by other rules, or may look like a cluster without room: a pod that
waits for ever beside one of its volumes.
"""

from collections.abc import Container
from dataclasses import dataclass, field

import msgspec

from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.holds import HOLD, HoldAction
from plimsoll.decide.provisioning.intents import Intent, IntentState, read_intent
from plimsoll.decide.scheduling.binding.groups import GroupState, read_group
from plimsoll.simulator.choices import VOLUMES_PATH, DriverCall, selected_node
from plimsoll.simulator.cluster.mirror import CLAIMS
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.wire.transport import Request, Response

RECORDERS = "provisioner-"
"""Ours. csi-provisioner, in their place, knows no holds."""
CLAIMS_PATH = f"/{CLAIMS}/"
OTHERS = ("controller-", "provisioner-")
"""Processes of ours that leave node and hold of a claim that is held to the scheduler."""


@dataclass(slots=True)
class HeldBack:
    holds: dict[str, tuple[float, str]] = field(default_factory=dict)
    """What the claim says, and since when; by its uid."""
    published: dict[str, str] = field(default_factory=dict)
    """The node of the group that was published last, by the uid of the claim."""
    undoing: set[str] = field(default_factory=set)
    """Names of intents whose volume is being given back."""
    touched: dict[str, str] = field(default_factory=dict)
    """Versions of claims that lost or changed node or hold while they were held, and what of it;
    until it is known who wrote them."""

    def claim_changed(self, at: float, before: Document | None, after: Document) -> str:
        """What is wrong with the change; empty: nothing is."""
        uid, hold = after["metadata"]["uid"], _hold(after)
        if self.holds.get(uid, (0.0, ""))[1] != hold:
            self.holds[uid] = at, hold
        if selected_node(after) != self.published.get(uid):
            self.published.pop(uid, None)
        self._note_touched(before, after)
        was_wanted = before is not None and _is_make(_hold(before)) and selected_node(before)
        is_cleared = not (hold or selected_node(after) or after["spec"].get("volumeName"))
        if (
            before is not None
            and was_wanted
            and is_cleared
            and "deletionTimestamp" not in after["metadata"]
        ):
            return f"{_name(after)} lost {selected_node(before)} while its hold said make"
        return ""

    def _note_touched(self, before: Document | None, after: Document) -> None:
        held = "" if before is None else _hold(before)
        if before is None or not held:
            return
        was, is_now = (held, selected_node(before)), (_hold(after), selected_node(after))
        if was != is_now:
            told = " and ".join(each or "nothing" for each in is_now)
            version = after["metadata"]["resourceVersion"]
            self.touched[version] = f"{_name(after)} had {' and '.join(was)}, and has {told}"

    def answered(
        self, sender: SimulatedProcess, request: Request, response: Response | None
    ) -> str:
        """What is wrong with a write that is done; empty: nothing is."""
        is_done = response is not None and response.status < 300  # noqa: PLR2004 - success is 2xx
        if response is None or not is_done or not self.touched or CLAIMS_PATH not in request.path:
            return ""
        metadata = msgspec.json.decode(response.body)["metadata"]
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            # The claim is gone with this write. The version is that of the write before.
            return ""
        told = self.touched.pop(metadata.get("resourceVersion", ""), "")
        return f"{sender.name} wrote it: {told}" if told and sender.name.startswith(OTHERS) else ""

    def recorded(
        self, sender: SimulatedProcess, request: Request, creations: dict[str, DriverCall]
    ) -> str:
        """What is wrong with a volume that is about to be stored; empty: nothing is."""
        is_new = request.method == "POST" and request.path == VOLUMES_PATH
        if not is_new or not sender.name.startswith(RECORDERS):
            return ""
        volume = msgspec.json.decode(request.body)
        name = volume["metadata"]["name"]
        since, hold = self.holds.get((volume["spec"].get("claimRef") or {}).get("uid", ""), (0, ""))
        made = creations.get(name)
        # A hold that came after the volume was made may have come after the last look at it, too.
        if made is None or not _is_make(hold) or since > made.answered_at:
            return ""
        return f"{sender.name} records {name}, which is held ({hold})"

    def record_changed(
        self,
        lease: Document | None,
        claims: dict[str, Document],
        volumes: dict[str, Document],
        nodes: Container[str],
    ) -> str:
        """`lease` holds a group or an intent; None: it is gone. Where the Node object of the
        published group is gone, its volumes are given back, because nothing tells what that node
        would reach. What another node's own provisioner made for an earlier attempt is no volume of
        that group."""
        if lease is None:
            return ""
        group = read_group(lease)
        if group is not None and group.state is GroupState.PUBLISHING:
            self.published |= {held.uid: group.node for held in group.claims}
        intent = read_intent(lease)
        if intent is None:
            return ""
        if intent.state is not IntentState.UNDOING:
            self.undoing.discard(intent.name)
            return ""
        is_begun, node = intent.name in self.undoing, self.published.get(intent.uid, "")
        self.undoing.add(intent.name)
        claim = claims.get(str(intent.claim_key))
        if is_begun or claim is None or claim["metadata"]["uid"] != intent.uid:
            return ""
        if node not in nodes or intent.node not in ("", node):
            return ""
        is_taken = claim["spec"].get("volumeName", "") not in ("", intent.volume_name)
        is_taken |= _is_another(volumes.get(intent.volume_name), intent)
        if is_taken or selected_node(claim) != node or "deletionTimestamp" in claim["metadata"]:
            return ""
        return f"the volume of claim {intent.claim_key} on {node} is given back"


def _is_another(volume: Document | None, intent: Intent) -> bool:
    """Whether what is recorded for the claim is another volume than the intent's: csi-provisioner,
    in our place, has had one made under the name without a number."""
    handle = "" if volume is None else (volume["spec"].get("csi") or {}).get("volumeHandle", "")
    return bool(handle and intent.volume_id) and handle != intent.volume_id


def _hold(claim: Document) -> str:
    return str((claim["metadata"].get("annotations") or {}).get(HOLD) or "")


def _is_make(hold: str) -> bool:
    return hold.endswith(f"/{HoldAction.MAKE}")


def _name(claim: Document) -> str:
    return f"{CLAIMS} {claim['metadata']['namespace']}/{claim['metadata']['name']}"
