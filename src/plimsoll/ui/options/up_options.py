"""Options that `plimsoll up` has, and passes on to the processes that it starts."""

from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from plimsoll.decide.ceph.takeover.auto_takeover import AutoTakeoverMode
from plimsoll.decide.repair.repairs import RepairRule
from plimsoll.decide.rollback.mode import ROLLBACK_AFTER, RollbackMode
from plimsoll.runtime.config import Settings
from plimsoll.runtime.flags import Flag, PathKind
from plimsoll.ui.local_cluster.kept_settings import MOST_NODES
from plimsoll.ui.local_cluster.layout import ControlPlaneOptions
from plimsoll.ui.options.log_options import LogLevel

RULES = ", ".join(RepairRule)


NodeCount = Annotated[
    int | None,
    Flag(
        "How many there are; default: as the directory keeps it.",
        at_least=1,
        at_most=MOST_NODES,
    ),
]


class PlaceFlags(Settings, frozen=True, kw_only=True):
    """Which cluster a command is about."""

    data_dir: Annotated[
        str,
        Flag(
            "The directory of the cluster: where everything is kept, and the next start goes on.",
            path=PathKind.DIRECTORY,
        ),
    ] = "plimsoll-data"
    log_level: LogLevel = "warning"

    @property
    def directory(self) -> Path:
        return Path(self.data_dir).absolute()


class MachineFlags(PlaceFlags, frozen=True, kw_only=True):
    nodes: NodeCount = None


class ControllerFlags(PlaceFlags, frozen=True, kw_only=True):
    """And what its controller and its API server are told."""

    encryption_key_file: Annotated[
        str,
        Flag(
            "Keep secrets encrypted in the directory, with the first key of this file (mode 0600):"
            " 32 bytes in base64, one key on a line.",
            metavar="FILE",
        ),
    ] = ""

    csi_addresses: Annotated[
        tuple[str, ...],
        Flag(
            "The socket of a CSI driver of your own, for the controller; may be repeated.",
            name="csi-address",
            metavar="SOCKET",
            gather=tuple,
        ),
    ] = ()
    repair: Annotated[
        str,
        Flag(
            f"Repair rules of the controller, separated by commas: {RULES}; default: none.",
            metavar="RULE,…",
        ),
    ] = ""
    repair_dry_run: Annotated[
        bool, Flag("Only tell by events what would be repaired.", off=None)
    ] = False
    rollback: Annotated[
        RollbackMode,
        Flag(
            "Take back volumes that no pod has used and that keep a pod from running, if their"
            " class allows it: off, dry-run, on."
        ),
    ] = RollbackMode.OFF
    rollback_after: Annotated[
        timedelta, Flag("How long a pod must have waited for a node before that.")
    ] = ROLLBACK_AFTER
    takeover: Annotated[
        str,
        Flag(
            "Let nodes of other zones take over lost zones of this CSI driver, as the config map"
            " kube-system/plimsoll-takeover says.",
            metavar="DRIVER",
        ),
    ] = ""
    auto_takeover: Annotated[
        AutoTakeoverMode,
        Flag("Write lost zones into that config map, and take them off: off, dry-run, on."),
    ] = AutoTakeoverMode.OFF

    @property
    def control(self) -> ControlPlaneOptions:
        """The same, without the names of the flags."""
        named = {each.name: getattr(self, each.name) for each in fields(ControlPlaneOptions)}
        return ControlPlaneOptions(**named)


class ControlPlaneFlags(ControllerFlags, frozen=True, kw_only=True):
    nodes: NodeCount = None


class UpFlags(ControllerFlags, frozen=True, kw_only=True):
    """What the directory does not keep."""

    restart_unresponsive: Annotated[
        bool,
        Flag(
            "End and start again a process that has not answered for 40 seconds. Switch it off to"
            " stop one in a debugger."
        ),
    ] = True
    separate: Annotated[
        bool,
        Flag("Run every part as a process of its own, to watch, kill or debug it alone.", off=None),
    ] = False
