"""What the modules of this package work with: tools of the loop, the driver, intents and caches."""

from dataclasses import dataclass

from plimsoll.processes.provisioner.sidecar import Sidecar
from plimsoll.processes.provisioner.view import ProvisionerCaches
from plimsoll.reconcile.intents import IntentBook
from plimsoll.reconcile.loop import Tools


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    tools: Tools
    sidecar: Sidecar
    intents: IntentBook
    caches: ProvisionerCaches
