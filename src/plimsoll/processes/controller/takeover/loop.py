"""Gives lost domains to nodes of others as the takeover map says, and gives them back.

One look does it all, in this order: domains that the map names are fenced, then labels of nodes
follow, then domains that no other node depends on any more are released. What is to be done is
decided anew each time, from the map, the driver's answer and the cluster: a controller that ends
between two steps leaves nothing that the next one does not see. That one asks the driver for the
fences that it finds before it counts on them: from then on a late call of the former one is
refused. Where the map names the domain no more it has the driver confirm the fence, which begins
none. Before a label is taken off and before a domain is released, the server is asked: a cache may
not have seen the newest pod. A pod that comes even later, by a scheduler that is behind, is failed.
"""

import asyncio
import logging
from dataclasses import dataclass, field, replace
from datetime import timedelta

from plimsoll.api.core import ConfigMap, Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import VolumeAttachment
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.fencing import (
    count_on_confirmed,
    decide_fencing,
    ended_fences,
    inherited_fences,
    wanted_fences,
)
from plimsoll.decide.ceph.takeover.served_domains import ServedDomains, decide_served_domains
from plimsoll.decide.ceph.takeover.served_labels import DomainPath
from plimsoll.decide.ceph.takeover.stranded_pods import decide_stranded_pod, find_stranded_pods
from plimsoll.decide.ceph.takeover.takeover_map import TakeoverMap, parse_takeover_map
from plimsoll.decide.ceph.takeover.telling import TakeoverReason, label_plan, tell_of_map
from plimsoll.decide.ceph.takeover.view import TakeoverView
from plimsoll.decide.plan import Emit
from plimsoll.processes.controller.csi.csi_loop import NO_DRIVERS, CsiLoop, CsiSettings
from plimsoll.processes.controller.takeover.automatic import AutoTakeover, AutoTakeoverSettings
from plimsoll.processes.controller.takeover.driver_domains import (
    DomainFencesSeen,
    DomainsNotKnown,
    DriverDomains,
    FenceNotConfirmed,
)
from plimsoll.processes.controller.takeover.notices import TakeoverNotices
from plimsoll.reconcile.loop import Tools
from plimsoll.wire.kind import typed
from plimsoll.wire.parameters import Selection

log = logging.getLogger(__name__)

LOOK = ObjectKey("", "look")
BUSY, IDLE = timedelta(seconds=5), timedelta(seconds=30)
"""How often is looked while something is taken over or to be, and else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeoverSettings:
    domains: DomainLabels
    map_key: ObjectKey
    """The config map."""
    map_entry: str = "config.json"
    """What in it holds the takeover map."""
    auto: AutoTakeoverSettings = field(default_factory=AutoTakeoverSettings)


class DomainTakeovers(CsiLoop):
    name = "takeover"
    workers = 1

    def __init__(
        self,
        tools: Tools,
        settings: CsiSettings = NO_DRIVERS,
        takeover: TakeoverSettings | None = None,
    ) -> None:
        """Without settings it does nothing."""
        super().__init__(tools, settings)
        self._takeover = takeover
        self._is_giving_back = False
        self._notices = TakeoverNotices(tools.enactor, tools.clock)
        self._gauge = tools.metrics.gauge(
            "plimsoll_controller_takeover_domains",
            "Storage domains that are taken over, or wait for that, or for being given back.",
            ("state",),
        )
        if takeover is not None:
            self._watch(takeover)

    def _watch(self, takeover: TakeoverSettings) -> None:
        observed, key = self.tools.observed, takeover.map_key
        self._maps, self._nodes = observed.of(ConfigMap), observed.of(Node)
        self._maps.only(Selection(namespace=key.namespace, fields=f"metadata.name={key.name}"))
        self._volumes, self._pods = observed.of(PersistentVolume), observed.of(Pod)
        self._claims = observed.of(PersistentVolumeClaim)
        self._attachments = observed.of(VolumeAttachment)
        self._maps.on_change(lambda _: self.queue.add(LOOK))
        self._nodes.on_change(self._node_changed)
        self._pods.on_change(self._pod_changed)
        self._attachments.on_change(self._attachment_changed)
        self._domains = DriverDomains(takeover.domains, self.drivers)
        place = (key, takeover.map_entry)
        self._auto = AutoTakeover(takeover.auto, place, self._domains, self.tools.clock)

    # When to look

    def driver_came(self, name: str) -> None:
        if self._takeover is not None and name == self._takeover.domains.driver:
            self.queue.add(LOOK)

    def _node_changed(self, change: StoreChange[Node]) -> None:
        before = None if change.before is None else change.before.metadata.labels
        after = None if change.after is None else change.after.metadata.labels
        if before != after:
            self.queue.add(LOOK)

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        if self._is_giving_back and (change.after is None or change.after.is_finished):
            self.queue.add(LOOK)

    def _attachment_changed(self, change: StoreChange[VolumeAttachment]) -> None:
        if self._is_giving_back and change.after is None:
            self.queue.add(LOOK)

    async def run(self) -> None:
        if self._takeover is None:
            await asyncio.Event().wait()
        self.queue.add(LOOK)
        await super().run()

    # One look

    async def reconcile(self, key: ObjectKey) -> timedelta | None:  # noqa: ARG002 - there is one
        takeover = self._takeover
        if takeover is None:
            return None
        look = TakeoverLook(takeover, self._map(takeover))
        view = await self._observe(look)
        view = await self._fence(look, view)
        await self._label(look, view)
        await self._release(look, view)
        await self._fail_stranded(look, view)
        await self._edit_map(look, view)
        await self._notices.tell_while_it_lasts(look.lasting)
        is_busy = view.takeover.targets_by_source or view.fenced or view.closed
        return BUSY if is_busy else IDLE

    def _map(self, takeover: TakeoverSettings) -> ConfigMap | None:
        return self._maps.view().get(takeover.map_key)

    async def _observe(self, look: "TakeoverLook") -> TakeoverView:
        view = TakeoverView(
            domains=look.takeover.domains,
            nodes=[*self._nodes.view().objects.values()],
            volumes=[*self._volumes.view().objects.values()],
            pods=[*self._pods.view().objects.values()],
            claims=[*self._claims.view().objects.values()],
            attachments=[*self._attachments.view().objects.values()],
        )
        fences = await self._domains.find_fences()
        return look.with_map(look.with_fences(view, fences))

    async def _asked(self, view: TakeoverView) -> TakeoverView:
        """The same with what the server has."""
        client = self.tools.client
        return replace(
            view,
            nodes=(await client.list(typed(Node))).items,
            volumes=(await client.list(typed(PersistentVolume))).items,
            pods=(await client.list(typed(Pod))).items,
            attachments=(await client.list(typed(VolumeAttachment))).items,
        )

    # Fences come before labels

    async def _fence(self, look: "TakeoverLook", view: TakeoverView) -> TakeoverView:
        view = await self._confirm(look, view)
        if view.closed is None:
            return view
        copies = {
            domain: found
            for domain in wanted_fences(view)
            if (found := await self._domains.find_copies(domain)) is not None
        }
        decided = decide_fencing(view, copies)
        for domain, why in (*decided.refused.items(), *decided.remarks.items()):
            look.note(TakeoverReason.REFUSED, f"Takeover of {_name(domain)}: {why}")
        wanted = [domain for domain in decided.fence if domain in copies]
        for domain in wanted:
            await self._fence_one(look, domain)
        view = await self._observe(look) if wanted else view
        return count_on_confirmed(view, self._domains.confirmed)

    async def _confirm(self, look: "TakeoverLook", view: TakeoverView) -> TakeoverView:
        for domain in inherited_fences(view, self._domains.confirmed):
            if why := await self._domains.fence(domain):
                look.silence = why
                return replace(view, fenced=(), closed=None)
            log.info("fence confirmed", extra={"domain": _name(domain)})
        for domain in ended_fences(view, self._domains.confirmed):
            if refused := await self._domains.confirm(domain):
                look.note_unconfirmed(domain, refused)
            else:
                log.info("fence confirmed", extra={"domain": _name(domain)})
        return view

    async def _fence_one(self, look: "TakeoverLook", domain: DomainPath) -> None:
        if why := await self._domains.fence(domain):
            look.note(TakeoverReason.WAITS, f"Takeover of {_name(domain)}: {why}.")
            return
        log.info("domain fenced", extra={"domain": _name(domain)})
        text = f"Nothing in {_name(domain)} can write any more."
        await self._notices.tell(look.event(TakeoverReason.FENCED, text))

    async def _label(self, look: "TakeoverLook", view: TakeoverView) -> None:
        decided = decide_served_domains(view)
        if any(change.removed for change in decided.changes):
            asked = await self._asked(view)
            # On the nodes as they were seen: a label is written on that version of its node.
            decided = decide_served_domains(replace(asked, nodes=view.nodes))
        nodes = {node.name: node for node in view.nodes}
        for change in decided.changes:
            if change.added or change.removed:
                node = nodes[change.node]
                await self.enact(LOOK, label_plan(view.domains, node, change))
        look.note_labels(decided)
        self._gauge.labels(state="waiting").set(len(decided.waiting))
        named = len(view.takeover.targets_by_source)
        self._gauge.labels(state="taken-over").set(named - len(decided.waiting))

    # Giveback

    async def _release(self, look: "TakeoverLook", view: TakeoverView) -> None:
        view = replace(view, nodes=[*self._nodes.view().objects.values()])
        decided = decide_fencing(view, {})
        self._is_giving_back = bool(decided.release or decided.waiting)
        self._gauge.labels(state="giving-back").set(len(decided.release) + len(decided.waiting))
        for domain, why in decided.waiting.items():
            look.note(TakeoverReason.GIVEBACK_WAITS, f"Giveback of {_name(domain)} waits: {why}.")
        if decided.release:
            for domain in decide_fencing(await self._asked(view), {}).release:
                await self._release_one(look, domain)

    async def _release_one(self, look: "TakeoverLook", domain: DomainPath) -> None:
        if why := await self._domains.release(domain):
            look.note(TakeoverReason.GIVEBACK_WAITS, f"Giveback of {_name(domain)}: {why}.")
            return
        log.info("domain released", extra={"domain": _name(domain)})
        text = f"The nodes in {_name(domain)} may write again."
        await self._notices.tell(look.event(TakeoverReason.RELEASED, text))
        self.queue.add(LOOK)

    async def _fail_stranded(self, look: "TakeoverLook", view: TakeoverView) -> None:
        """None while their labels may still come back."""
        if look.awaits_confirmation or not find_stranded_pods(view):
            return
        client = self.tools.client
        # In this order: a claim stays what it is to a pod, and a volume what it is to a claim.
        asked = replace(
            view,
            pods=(await client.list(typed(Pod))).items,
            claims=(await client.list(typed(PersistentVolumeClaim))).items,
            volumes=(await client.list(typed(PersistentVolume))).items,
            nodes=(await client.list(typed(Node))).items,
        )
        for stranded in find_stranded_pods(asked):
            await self.enact(LOOK, decide_stranded_pod(stranded, self.tools.clock.now()))

    async def _edit_map(self, look: "TakeoverLook", view: TakeoverView) -> None:
        plan, told = await self._auto.plan(view, look.map)
        look.lasting.extend(told)
        if plan.writes:
            await self.enact(LOOK, plan)


@dataclass(slots=True)
class TakeoverLook:
    """One look at everything: the map that it is about, and what is to be told of it."""

    takeover: TakeoverSettings
    map: ConfigMap | None
    lasting: list[Emit] = field(default_factory=list)
    silence: str = ""
    """Why it is not known what is fenced."""
    awaits_confirmation: bool = False
    """Whether there are fences that may be confirmed, or not, by a later look."""

    def event(self, reason: TakeoverReason, message: str) -> Emit:
        return tell_of_map(self.takeover.map_key, self.map, reason, message)

    def note(self, reason: TakeoverReason, message: str) -> None:
        self.lasting.append(self.event(reason, message))

    def note_unconfirmed(self, domain: DomainPath, refused: FenceNotConfirmed) -> None:
        self.awaits_confirmation |= not refused.is_certain
        text = f"Giveback of {_name(domain)}: no label of it comes back: {refused.why}."
        self.note(TakeoverReason.GIVEBACK_WAITS, text)

    def note_labels(self, decided: ServedDomains) -> None:
        for problem in decided.problems:
            self.note(TakeoverReason.MAP_NOT_UNDERSTOOD, problem)
        kept = [item.reason for change in decided.changes for item in change.kept]
        for reason in () if decided.problems else kept:
            self.note(TakeoverReason.GIVEBACK_WAITS, reason)
        for text in decided.waiting if self.silence else ():
            self.note(TakeoverReason.WAITS, f"{text} {self.silence}.")

    def with_fences(
        self, view: TakeoverView, fences: DomainFencesSeen | DomainsNotKnown
    ) -> TakeoverView:
        match fences:
            case DomainFencesSeen(fenced=fenced, closed=closed):
                return replace(view, fenced=fenced, closed=closed)
            case DomainsNotKnown(why=why):
                self.silence = why
                return replace(view, closed=None)

    def with_map(self, view: TakeoverView) -> TakeoverView:
        """A map that is not there names no takeover."""
        entry = self.takeover.map_entry
        text = "" if self.map is None else self.map.data.get(entry, "")
        try:
            found = parse_takeover_map(text) if text else TakeoverMap()
        except ValueError as error:
            where = f"{entry} of config map {self.takeover.map_key}"
            return replace(view, map_problem=f"{where}: {error}; correct it.")
        return replace(view, takeover=found)


def _name(domain: DomainPath) -> str:
    return ".".join(domain)
