"""What must be true of every cluster: after every step, and once faults have ended.

`Watchdog` checks each change as soon as it is durable, and every message as it is sent. `settled`
checks what must have come about when nothing has gone wrong for a while. Both are used by the
simulator and by tests. An invariant that today's program breaks by design is written as well, and
what breaks it is marked as known.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from plimsoll.api.registry import Document
from plimsoll.simulator.choices import DriverCall, SchedulerChoices, SelectedNodes
from plimsoll.simulator.cluster.driver_host import AnsweredCall, DriverHost
from plimsoll.simulator.cluster.mirror import ATTACHMENTS, CLAIMS, NODES, PODS, VOLUMES
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.simulator.held_back import HeldBack
from plimsoll.simulator.honest_drivers import HonestDrivers
from plimsoll.simulator.placements import STALE_SECONDS, PlacementWatch, promised_node
from plimsoll.simulator.takeovers import TakeoverWatch
from plimsoll.simulator.volume_reach import claims_of, reaches
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.fenced import HARMLESS_CALLS
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2 as pools
from plimsoll.wire.transport import Request, Response

RECORDED_NAME = len("pvc-") + 36
"""So long is the name of a volume; after an attempt that was undone its driver is told a number
besides."""


PROVISIONER = "provisioner-"
"""In the names of ours, and of csi-provisioner in their place."""


class Invariant(StrEnum):
    ONE_CLAIM_PER_VOLUME = "no volume serves two claims"
    PAIRS_AGREE = "bound pairs agree"
    ONE_CHOICE = "no scheduler contradicts its own choice"
    SELECTED_NODE_HONOURED = "a volume is recorded for the node that is selected by then"
    REACHABLE_VOLUMES = "no pod runs on a node that cannot reach its volumes"
    CLAIMS_IN_USE = "no claim goes while a pod that runs uses it"
    ATTACH_LIMITS = "attach limits hold"
    DURABLE_WRITES = "acknowledged writes are never lost"
    LEADERS_ONLY = "no write and no driver call leaves a process whose lease has ended"
    NO_BUGS = "no process ends by a bug"
    NO_FAILED_LOOPS = "no loop of a process fails by a bug"
    COLUMNS_EQUAL_REBUILD = "the scheduler's columns equal a rebuild"
    CACHES_ARE_TRUE = "the scheduler's caches hold what the server has"
    EVERYTHING_RUNS = "everything that can run runs"
    NOT_REFUSED_FOR_EVER = "no pod is refused by the same node for ever while another would do"
    RECLAIMED = "volumes whose claims are gone are released or deleted"
    NO_LEAKS = "every volume that a driver made is recorded"
    NO_USED_DATA_ROLLED_BACK = "used data is never rolled back"
    USED_DATA_STAYS = "no volume that a pod has used is deleted while its claim is there"
    HELD_BACK = "no volume is recorded while it is held back"
    ONLY_FORWARD = "no volume is given back after its group was published"
    UNDONE_FIRST = "no node is cleared before it is durable that its volume is undone"
    HOLDS_ARE_THE_SCHEDULERS = "only schedulers change node and hold of a claim that is held"
    NEVER_ASKED_FOR_MORE = "no honest driver is asked for more than it has"
    NOTHING_RESERVED_LEFT = "reservations never exceed what is in flight"
    NO_HOLDS_LEFT = "no group and no hold outlives its pod"
    ROLLBACKS_END = "every rollback comes to an end"
    NO_LOSSES = "every recorded volume exists"
    FENCED_FIRST = "no domain is served elsewhere before it is fenced"
    FENCED_NODES_READ = "no node that is fenced can write"
    TAKEOVERS_END = "what the takeover map says comes about"
    KEPT_APART = "no scheduler puts a pod near another that one of them avoids"
    SPREAD_EVENLY = "no scheduler exceeds the skew that a pod allows"
    PREEMPTED_FOR_MORE = "pods leave only for more important ones"
    PROMISED_IN_REACH = "no pod is promised a node that cannot reach its volumes"
    CAPACITY_IS_TRUE = "capacity objects equal the backends"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    invariant: Invariant
    at: float
    message: str
    is_known: bool = False
    """Today's program breaks it by design."""

    def __str__(self) -> str:
        known = " (known)" if self.is_known else ""
        return f"{self.at:.3f} s: {self.invariant}{known}: {self.message}"


class Watchdog:
    """Checks every step from the moment when it is made."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._mirror = cluster.mirror
        self.violations: list[Violation] = []
        self._claim_of: dict[str, str] = {}
        """The claim that is bound to a volume, by the volume's name."""
        self._attached: dict[tuple[str, str], set[str]] = {}
        """The attachments that stand, by node and driver."""
        self._limits = {node.name: node.max_volumes for node in cluster.shape.nodes}
        self._waiting_classes = {
            class_.name for class_ in cluster.shape.classes if not class_.is_immediate
        }
        self._used: set[str] = set()
        """Ids of volumes that were published to a pod."""
        self.selected = SelectedNodes()
        self._choices = SchedulerChoices()
        self._held = HeldBack()
        self._honest = HonestDrivers(cluster)
        self._placements = PlacementWatch()
        self._bound_at: dict[str, float] = {}
        """When claims were first seen Bound, by uid."""
        self._takeovers = TakeoverWatch(
            cluster,
            early=partial(self.add, Invariant.FENCED_FIRST),
            writes=partial(self.add, Invariant.FENCED_NODES_READ),
        )
        cluster.mirror.on_change.append(self._changed)
        cluster.api.on_write.append(self._written)
        cluster.api.on_acknowledged.append(self._acknowledged)
        cluster.api.on_outcome.append(self._choices.answered)
        cluster.api.on_outcome.append(self._answered)
        for host in cluster.drivers.values():
            host.on_call.append(self._called)
            host.on_success.append(self._succeeded)
            host.on_done.append(self._carried_out)
            host.on_refusal.append(self._refused)
        cluster.mirror.on_record.append(self._recorded)

    def add(self, invariant: Invariant, message: str, *, is_known: bool = False) -> None:
        found = Violation(invariant=invariant, at=self._now, message=message, is_known=is_known)
        self._cluster.network.trace.add("violation", f"{invariant}: {message}")
        self.violations.append(found)

    @property
    def _now(self) -> float:
        return self._cluster.network.loop.time()

    def _changed(
        self, kind: str, key: str, before: Document | None, after: Document | None
    ) -> None:
        if kind == ATTACHMENTS:
            self._check_attachments(key, before, after)
        self._note_places(kind, before, after)
        if after is None:
            if kind == CLAIMS and before is not None:
                self._claim_of = {v: c for v, c in self._claim_of.items() if c != key}
                self._check_gone_claim(key, before)
            return
        if kind == CLAIMS:
            self.selected.claim_changed(self._now, after)
            self._honest.claim_changed(after)
            if wrong := self._held.claim_changed(self._now, before, after):
                self.add(Invariant.UNDONE_FIRST, wrong)
            self._check_claim(key, after)
        elif kind == VOLUMES:
            self._check_volume(key, after)
            if before is None:
                self._check_new_volume(key, after)
        elif kind == PODS:
            self._check_pod(key, before, after)
            self._check_place(before, after)

    def _check_claim(self, key: str, claim: Document) -> None:
        if (claim.get("status") or {}).get("phase") != "Bound":
            return
        self._bound_at.setdefault(claim["metadata"]["uid"], self._now)
        name = claim["spec"].get("volumeName", "")
        other = self._claim_of.setdefault(name, key)
        if other != key and other in self._mirror.objects[CLAIMS]:
            self.add(Invariant.ONE_CLAIM_PER_VOLUME, f"{name} serves {other} and {key}")
        self._claim_of[name] = key
        volume = self._mirror.objects[VOLUMES].get(name)
        if volume is None:
            # A volume that was deleted by hand is the claim's loss, told by its next phase.
            return
        reference = volume["spec"].get("claimRef") or {}
        if reference.get("uid") != claim["metadata"]["uid"]:
            self.add(
                Invariant.PAIRS_AGREE,
                f"claim {key} is bound to {name}, which is for {reference.get('name')} "
                f"({reference.get('uid')})",
            )

    def _check_volume(self, name: str, volume: Document) -> None:
        """It is not taken from a claim that is bound to it."""
        key = self._claim_of.get(name, "")
        claim = self._mirror.objects[CLAIMS].get(key)
        if claim is None or claim["spec"].get("volumeName") != name:
            return
        reference = volume["spec"].get("claimRef") or {}
        if reference.get("uid") != claim["metadata"]["uid"]:
            other = reference.get("name", "no claim")
            message = f"{name} was given to {other} while claim {key} was bound to it"
            self.add(Invariant.PAIRS_AGREE, message)

    def _check_new_volume(self, name: str, volume: Document) -> None:
        waits = volume["spec"].get("storageClassName") in self._waiting_classes
        nodes = self._mirror.objects[NODES]
        found = self.selected.find_stray(volume, nodes, waits=waits)
        if found is None or self.selected.is_stock(volume):
            return
        node, seen = found
        if not node or (seen is not None and not reaches(seen, volume)):
            message = f"{name} was recorded out of reach of {node or 'any selected node'}"
            self.add(Invariant.SELECTED_NODE_HONOURED, message)

    def _check_pod(self, key: str, before: Document | None, pod: Document) -> None:
        if not _runs(pod):
            return
        may_lose_reach = self._takeovers.may_happen or "deletionTimestamp" in pod["metadata"]
        if before is not None and _runs(before) and may_lose_reach:
            # It ran before its zone was lost. It goes on the way out of a zone that is given back,
            # and in a zone that has been released and gets its labels back a moment later.
            return
        node = self._mirror.objects[NODES].get(pod["spec"].get("nodeName", ""))
        if node is None or self._takeovers.is_fenced_node(node["metadata"]["name"]):
            return
        namespace = pod["metadata"]["namespace"]
        for claim_name in claims_of(pod):
            claim = self._mirror.objects[CLAIMS].get(f"{namespace}/{claim_name}")
            name = "" if claim is None else claim["spec"].get("volumeName", "")
            volume = self._mirror.objects[VOLUMES].get(name)
            if volume is None or reaches(node, volume):
                continue
            if not self._takeovers.may_come_back(node, volume):
                self.add(
                    Invariant.REACHABLE_VOLUMES,
                    f"pod {key} runs on {node['metadata']['name']}, out of reach of {name}",
                )

    def _note_places(self, kind: str, before: Document | None, after: Document | None) -> None:
        objects = self._mirror.objects
        pods, pod = objects[PODS], after or before
        if kind == NODES and (before is None or after is None):
            self._placements.node_changed(objects[NODES], has_pods=bool(pods))
        elif kind == PODS and pod is not None:
            self._placements.pod_changed(self._now, pod, pods, is_gone=after is None)

    def _check_place(self, before: Document | None, pod: Document) -> None:
        """That the pod gets, or is promised."""
        old, objects = before or {"spec": {}}, self._mirror.objects
        pods, nodes = objects[PODS], objects[NODES]
        if pod["spec"].get("nodeName") and not old["spec"].get("nodeName"):
            for near in self._placements.too_near(pod, pods, nodes):
                self.add(Invariant.KEPT_APART, near)
            for skew in self._placements.skew(pod, pods, nodes):
                self.add(Invariant.SPREAD_EVENLY, skew)
        promised, was = (promised_node(each) for each in (pod, old))
        if promised and promised != was and not self._cluster.shape.takeover:
            self._check_promise(pod, promised)

    def _check_promise(self, pod: Document, promised: str) -> None:
        """Of volumes that the scheduler must have known by then: it promises no node to a pod whose
        Immediate claims it has not seen bound."""
        objects, namespace = self._mirror.objects, pod["metadata"]["namespace"]
        node = objects[NODES].get(promised)
        for name in claims_of(pod):
            claim = objects[CLAIMS].get(f"{namespace}/{name}")
            if claim is None or node is None:
                continue
            bound_at = self._bound_at.get(claim["metadata"]["uid"], self._now)
            volume = objects[VOLUMES].get(claim["spec"].get("volumeName", ""))
            waits = claim["spec"].get("storageClassName") in self._waiting_classes
            is_known = not waits or self._now - bound_at > STALE_SECONDS
            if volume is not None and is_known and not reaches(node, volume):
                message = f"pod {pod['metadata']['name']} is promised {promised}, out of reach"
                self.add(Invariant.PROMISED_IN_REACH, f"{message} of its claim {name}")

    def _check_gone_claim(self, key: str, claim: Document) -> None:
        """Its volume may be deleted from now on. A pod that was deleted by force runs no more."""
        namespace, name = claim["metadata"]["namespace"], claim["metadata"]["name"]
        for pod_key, pod in self._mirror.objects[PODS].items():
            is_running = (pod.get("status") or {}).get("phase") == "Running"
            is_forced = pod["metadata"].get("deletionGracePeriodSeconds") == 0
            is_here = pod["metadata"]["namespace"] == namespace
            if is_running and is_here and not is_forced and name in claims_of(pod):
                self.add(Invariant.CLAIMS_IN_USE, f"claim {key} went, pod {pod_key} uses it")

    def _check_attachments(self, key: str, before: Document | None, after: Document | None) -> None:
        told = after or before
        if told is None:
            return
        node, driver = told["spec"]["nodeName"], told["spec"]["attacher"]
        attached = self._attached.setdefault((node, driver), set())
        if after is None or not _is_attached(after):
            attached.discard(key)
            return
        attached.add(key)
        limit = self._limits.get(node, 0)
        if limit and len(attached) > limit:
            self.add(Invariant.ATTACH_LIMITS, f"{node} has {len(attached)} volumes, limit {limit}")

    def _recorded(self, lease: Document | None) -> None:
        objects = self._mirror.objects
        claims, volumes, nodes = objects[CLAIMS], objects[VOLUMES], objects[NODES]
        wrong = self._held.record_changed(lease, claims, volumes, nodes)
        if wrong and not self._cluster.second_scheduler.lives:
            self.add(Invariant.ONLY_FORWARD, wrong)

    def _refused(self, host: DriverHost, call: AnsweredCall, refusal: DriverError) -> None:
        if told := self._honest.refused(host, call, refusal):
            self.add(Invariant.NEVER_ASKED_FOR_MORE, told)

    def _written(self, sender: SimulatedProcess, request: Request) -> None:
        """Only the lease itself may be written by those who do not hold it."""
        if sender.lease and not _is_for_lease(request, sender.lease):
            self._check_lease(sender, f"{request.method} {request.path}")
        if contradiction := self._choices.sent(sender, request):
            self.add(Invariant.ONE_CHOICE, contradiction)
        pods = self._mirror.objects[PODS]
        if unimportant := self._placements.written(self._now, sender, request, pods):
            self.add(Invariant.PREEMPTED_FOR_MORE, unimportant)
        self.selected.volume_sent(sender, request)
        if early := self._held.recorded(sender, request, self.selected.creations):
            self.add(Invariant.HELD_BACK, early)

    def _answered(
        self, sender: SimulatedProcess, request: Request, response: Response | None
    ) -> None:
        self._placements.answered(sender, request, response, self._mirror.objects[PODS])
        if touched := self._held.answered(sender, request, response):
            self.add(Invariant.HOLDS_ARE_THE_SCHEDULERS, touched)

    def _called(self, sender: SimulatedProcess, method: str) -> None:
        if sender.lease and method not in HARMLESS_CALLS:
            self._check_lease(sender, method)

    def _succeeded(self, call: AnsweredCall) -> None:
        if call.method == methods.CREATE_VOLUME.name:
            name = csi.CreateVolumeRequest.FromString(call.request).name
            made = DriverCall(sent_at=call.sent_at, answered_at=self._now)
            self.selected.creations[name[:RECORDED_NAME]] = made

    def _carried_out(self, call: AnsweredCall) -> None:
        if call.method == methods.NODE_PUBLISH_VOLUME.name:
            self._used.add(csi.NodePublishVolumeRequest.FromString(call.request).volume_id)
        elif call.method == methods.DELETE_VOLUME.name:
            volume_id = csi.DeleteVolumeRequest.FromString(call.request).volume_id
            self._check_deleted(
                volume_id, call.sender, is_rollback=self._is_rollback(call.sender, volume_id)
            )
        elif call.method == methods.DELETE_NEVER_PUBLISHED.name:
            volume_id = pools.DeleteNeverPublishedRequest.FromString(call.request).volume_id
            self._check_deleted(volume_id, call.sender, is_rollback=True)

    def _is_rollback(self, sender: SimulatedProcess, volume_id: str) -> bool:
        """Provisioners delete what is released by its policy, while its object is there; everything
        else is a rollback."""
        if sender.name.startswith("controller"):
            return True
        return PROVISIONER in sender.name and not any(
            (volume["spec"].get("csi") or {}).get("volumeHandle") == volume_id
            for volume in self._mirror.objects[VOLUMES].values()
        )

    def _check_deleted(
        self, volume_id: str, sender: SimulatedProcess, *, is_rollback: bool
    ) -> None:
        if volume_id not in self._used:
            return
        self._used.discard(volume_id)  # what is made under this id from now on is another volume
        if is_rollback:
            told = f"{sender.name} had {volume_id} deleted, which a pod has used"
            self.add(Invariant.NO_USED_DATA_ROLLED_BACK, told)
        uids = {claim["metadata"]["uid"] for claim in self._mirror.objects[CLAIMS].values()}
        for name, volume in self._mirror.objects[VOLUMES].items():
            handle = (volume["spec"].get("csi") or {}).get("volumeHandle")
            reference = volume["spec"].get("claimRef") or {}
            if handle == volume_id and reference.get("uid") in uids:
                told = f"{name} was deleted at its driver; its claim {reference['name']} is there"
                self.add(Invariant.USED_DATA_STAYS, told)

    def _check_lease(self, sender: SimulatedProcess, what: str) -> None:
        holder = self._mirror.holders.get(sender.lease, "")
        if holder and holder != sender.instance:
            message = f"{sender.name} sent {what} while {holder} held {sender.lease}"
            self.add(Invariant.LEADERS_ONLY, message)

    def _acknowledged(self, request: Request, response: Response) -> None:
        """What is answered as done is on the disk by then."""
        if response.status >= 300 or any(name == "dryRun" for name, _ in request.query):  # noqa: PLR2004
            return
        start = response.body.find(b'"resourceVersion":"', 0, 400)
        if start < 0:
            return
        start += len(b'"resourceVersion":"')
        revision = int(response.body[start : response.body.index(b'"', start)])
        if revision > self._cluster.api.disk.newest:
            message = f"{request.method} {request.path} was answered before it was on disk"
            self.add(Invariant.DURABLE_WRITES, message)

    def collect(self) -> list[Violation]:
        """All so far, with what servers had lost when they started, and bugs."""
        for loss in self._mirror.losses:
            self.add(Invariant.DURABLE_WRITES, loss)
        self._mirror.losses.clear()
        for name, bug in self._cluster.bugs:
            self.add(Invariant.NO_BUGS, f"{name}: {type(bug).__name__}: {bug}")
        return self.violations


def _is_for_lease(request: Request, lease: str) -> bool:
    namespace, _, name = lease.partition("/")
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    is_new = request.method == "POST" and f'"name":"{name}"'.encode() in request.body
    return request.path == f"{leases}/{name}" or (request.path == leases and is_new)


def _runs(pod: Document) -> bool:
    return bool((pod.get("status") or {}).get("phase") == "Running")


def _is_attached(attachment: Document) -> bool:
    """One that is being deleted does not count: its driver may have detached it already, and let
    another volume have its place, before the object goes."""
    attached = bool((attachment.get("status") or {}).get("attached"))
    return attached and "deletionTimestamp" not in attachment["metadata"]
