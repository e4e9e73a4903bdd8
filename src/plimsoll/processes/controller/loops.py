"""The table of loops: their names as `--controllers` takes them, and which run by default."""

from collections.abc import Callable
from dataclasses import dataclass

from plimsoll.processes.controller.cluster.disruption import Disruption
from plimsoll.processes.controller.cluster.endpoints import EndpointLists
from plimsoll.processes.controller.cluster.garbage_collector import GarbageCollector
from plimsoll.processes.controller.cluster.namespace import NamespaceDeletion
from plimsoll.processes.controller.cluster.node_lifecycle import NodeLifecycle
from plimsoll.processes.controller.cluster.pod_gc import PodGarbageCollector
from plimsoll.processes.controller.cluster.service_accounts import ServiceAccounts
from plimsoll.processes.controller.cluster.stale_disruption import StaleDisruptions
from plimsoll.processes.controller.cluster.taint_eviction import TaintEvictions
from plimsoll.processes.controller.csi.attach_detach import AttachDetach
from plimsoll.processes.controller.csi.attacher import CsiAttacher
from plimsoll.processes.controller.csi.resizer import Resizer
from plimsoll.processes.controller.csi.snapshotter import Snapshotter
from plimsoll.processes.controller.rollback.loop import Rollbacks
from plimsoll.processes.controller.storage.binding import Binding
from plimsoll.processes.controller.storage.claim_protection import ClaimProtection
from plimsoll.processes.controller.storage.ephemeral_volume import EphemeralVolumeLoop
from plimsoll.processes.controller.storage.orphaned_intents import OrphanedIntents
from plimsoll.processes.controller.storage.repair import Repairs
from plimsoll.processes.controller.storage.volume_protection import VolumeProtection
from plimsoll.processes.controller.storage.zonal_upgrade import ZonalUpgrades
from plimsoll.processes.controller.takeover.loop import DomainTakeovers
from plimsoll.processes.controller.workloads.cron_job import CronJobs
from plimsoll.processes.controller.workloads.daemon_set import DaemonSets
from plimsoll.processes.controller.workloads.deployment import Deployments
from plimsoll.processes.controller.workloads.job import Jobs
from plimsoll.processes.controller.workloads.replica_set import ReplicaSets
from plimsoll.processes.controller.workloads.stateful_set import StatefulSets
from plimsoll.reconcile.loop import Loop, Tools


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEntry:
    make: Callable[[Tools], Loop]
    about: str
    """One line for the help text."""
    on_cluster: bool = False
    """Runs by default on a real cluster: kube-controller-manager has nothing like it."""
    needs_driver: bool = False
    """Runs by default on a real cluster as soon as a CSI driver is named."""


LOOPS: dict[str, LoopEntry] = {
    "binding": LoopEntry(
        make=Binding, about="bind claims and volumes, provision and reclaim in this process"
    ),
    "garbage-collector": LoopEntry(
        make=GarbageCollector, about="delete objects whose owners are all gone"
    ),
    "namespace": LoopEntry(make=NamespaceDeletion, about="empty namespaces that are being deleted"),
    "pod-gc": LoopEntry(make=PodGarbageCollector, about="end pods whose node is gone"),
    "node-lifecycle": LoopEntry(
        make=NodeLifecycle, about="mark nodes that fall silent, and taint nodes by their conditions"
    ),
    "taint-eviction": LoopEntry(
        make=TaintEvictions, about="end pods that do not tolerate a NoExecute taint of their node"
    ),
    "service-accounts": LoopEntry(
        make=ServiceAccounts, about="give every namespace its default service account"
    ),
    "endpoints": LoopEntry(
        make=EndpointLists, about="list the pods behind services, in EndpointSlices and Endpoints"
    ),
    "ephemeral-volume": LoopEntry(
        make=EphemeralVolumeLoop, about="make the claims of generic ephemeral volumes"
    ),
    "attach-detach": LoopEntry(
        make=AttachDetach, about="attach volumes where pods need them, and detach them"
    ),
    "csi-attacher": LoopEntry(
        make=CsiAttacher, about="let CSI drivers carry out attachments", needs_driver=True
    ),
    "resizer": LoopEntry(
        make=Resizer,
        about="let CSI drivers grow volumes, and change their attributes",
        needs_driver=True,
    ),
    "snapshotter": LoopEntry(
        make=Snapshotter,
        about="bind snapshots to their contents, and let CSI drivers take them",
        needs_driver=True,
    ),
    "claim-protection": LoopEntry(
        make=ClaimProtection, about="keep claims that pods use from being deleted"
    ),
    "volume-protection": LoopEntry(
        make=VolumeProtection, about="keep bound volumes from being deleted"
    ),
    "orphaned-intents": LoopEntry(
        make=OrphanedIntents,
        about="tell of volumes whose provisioner went with its node, and free their claims",
    ),
    "zonal-upgrade": LoopEntry(
        make=ZonalUpgrades, about="turn zone labels of volumes into node affinity"
    ),
    "repair": LoopEntry(make=Repairs, about="the rules given by --repair; none by default"),
    "rollback": LoopEntry(
        make=Rollbacks, about="take back unused volumes as --rollback says; not by default"
    ),
    "takeover": LoopEntry(
        make=DomainTakeovers,
        about="give lost domains of the driver of --takeover to other nodes; not by default",
    ),
    "statefulset": LoopEntry(make=StatefulSets, about="pods with names and claims of their own"),
    "replicaset": LoopEntry(make=ReplicaSets, about="a number of equal pods"),
    "deployment": LoopEntry(make=Deployments, about="replace equal pods step by step"),
    "daemonset": LoopEntry(make=DaemonSets, about="one pod on every node"),
    "disruption": LoopEntry(
        make=Disruption, about="count how many pods of a PodDisruptionBudget may be evicted"
    ),
    "stale-disruption": LoopEntry(
        make=StaleDisruptions,
        about="take back marks of pods that were to be disrupted and were not",
    ),
    "job": LoopEntry(make=Jobs, about="pods that run to completion"),
    "cronjob": LoopEntry(make=CronJobs, about="jobs that start by a schedule"),
}


def chosen(names: tuple[str, ...], *, on_cluster: bool, has_driver: bool = False) -> list[str]:
    """The loops that `--controllers` selects: names, `*` for the default, `-name` to leave out.

    Raises ValueError for a name that no loop has.
    """
    default = [
        name
        for name, entry in LOOPS.items()
        if entry.on_cluster or not on_cluster or (entry.needs_driver and has_driver)
    ]
    unknown = [n for n in names if n.removeprefix("-") not in LOOPS and n != "*"]
    if unknown:
        raise ValueError(f"unknown controllers: {', '.join(unknown)}; known: {', '.join(LOOPS)}")
    wanted = set(default) if not names or "*" in names else set()
    wanted |= {name for name in names if not name.startswith("-") and name != "*"}
    wanted -= {name.removeprefix("-") for name in names if name.startswith("-")}
    return [name for name in LOOPS if name in wanted]
