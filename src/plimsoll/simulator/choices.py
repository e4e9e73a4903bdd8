"""What schedulers and provisioners choose, followed for the checks of `invariants`.

A scheduler that has given a volume to one claim, or a claim to one node, believes that from then
on, before any watch shows it. A provisioner records a volume for the node that is selected by then,
not for the one that was selected when it began.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from plimsoll.api.registry import Document
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.simulator.cluster.driver_host import STOCK_PROVISIONER
from plimsoll.simulator.cluster.mirror import CLAIMS, VOLUMES
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.wire.transport import Request, Response

SCHEDULERS = "scheduler-"
VOLUMES_PATH = f"/api/v1/{VOLUMES}"
PLACES = (f"/{VOLUMES}/", f"/{CLAIMS}/")


@dataclass(frozen=True, slots=True)
class _Given:
    """A version of a volume or claim, seen by one life of a process."""

    life: SimulatedProcess
    path: str
    version: str


class SchedulerChoices:
    """What each scheduler has written of volumes and claims, and on which version of them."""

    def __init__(self) -> None:
        self._given: dict[_Given, str] = {}

    def sent(self, sender: SimulatedProcess, request: Request) -> str:
        """What contradicts an earlier write that was answered with success, or has no answer yet.

        Empty: nothing does. A write that failed counts no more.
        """
        choice = _choice(sender, request)
        if choice is None:
            return ""
        given, to = choice
        earlier = self._given.setdefault(given, to)
        if earlier == to:
            return ""
        return f"{sender.name} gave {request.path} to {to}, and the same version to {earlier}"

    def answered(
        self, sender: SimulatedProcess, request: Request, response: Response | None
    ) -> None:
        if response is None or response.status >= 300:  # noqa: PLR2004 - success is 2xx
            choice = _choice(sender, request)
            if choice is not None and self._given.get(choice[0]) == choice[1]:
                del self._given[choice[0]]


def _choice(sender: SimulatedProcess, request: Request) -> tuple[_Given, str] | None:
    """What was chosen for a volume or claim, by the scheduler that sends this."""
    is_patch = request.method == "PATCH" and sender.name.startswith(SCHEDULERS)
    if not is_patch or not any(place in request.path for place in PLACES):
        return None
    patch = msgspec.json.decode(request.body)
    metadata = patch.get("metadata") or {}
    claim = (patch.get("spec") or {}).get("claimRef") or {}
    node = (metadata.get("annotations") or {}).get(SELECTED_NODE)
    to, version = claim.get("uid") or node, metadata.get("resourceVersion")
    return (_Given(sender, request.path, version), to) if to and version else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverCall:
    sent_at: float
    answered_at: float


@dataclass(slots=True)
class SelectedNodes:
    """Which node each claim named, from when on; by the uid of the claim."""

    history: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    refusals: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a node was taken off a claim that still waits, by the claim's uid and the node."""
    creations: dict[str, DriverCall] = field(default_factory=dict)
    """The last call that made a volume, by the volume's name."""
    recorders: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """The processes that wanted a volume stored, by its name and handle."""

    def claim_changed(self, at: float, claim: Document) -> None:
        uid, node = claim["metadata"]["uid"], selected_node(claim)
        known = self.history.setdefault(uid, [(at, "")])
        before = known[-1][1]
        if node == before:
            return
        known.append((at, node))
        if not node and not claim["spec"].get("volumeName"):
            self.refusals[uid, before] += 1

    def volume_sent(self, sender: SimulatedProcess, request: Request) -> None:
        if request.method == "POST" and request.path == VOLUMES_PATH:
            recorded = _recorded(msgspec.json.decode(request.body))
            self.recorders.setdefault(recorded, set()).add(sender.name)

    def is_stock(self, volume: Document) -> bool:
        """Whether csi-provisioner alone recorded it: in Kubernetes the node that is selected by
        then does not count."""
        senders = self.recorders.get(_recorded(volume), set())
        return bool(senders) and all(name.startswith(STOCK_PROVISIONER) for name in senders)

    def find_stray(
        self, volume: Document, nodes: Mapping[str, Document], *, waits: bool
    ) -> tuple[str, Document | None] | None:
        """The node that was selected while the volume was made, and that has to reach it.

        None: the node is the one that the call was made for, or was selected after its answer.
        """
        uid = (volume["spec"].get("claimRef") or {}).get("uid", "")
        call, history = self.creations.get(volume["metadata"]["name"]), self.history.get(uid)
        if call is None or not history:
            return None
        since, node = history[-1]
        first = min(at for at, each in history if each == node)
        began = since if not node else first
        if not call.sent_at < began <= since < call.answered_at or not (node or waits):
            return None
        return node, nodes.get(node)


def _recorded(volume: Document) -> tuple[str, str]:
    handle = (volume["spec"].get("csi") or {}).get("volumeHandle", "")
    return volume["metadata"]["name"], handle


def selected_node(claim: Document) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    return str(annotations.get(SELECTED_NODE) or "")
