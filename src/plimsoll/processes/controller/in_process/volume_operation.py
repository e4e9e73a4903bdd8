"""What the operations on volumes share: calls to provisioners, reads from the server, and writes
that are decided again after a conflict."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from plimsoll.api.core import Node, Secret
from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.view import ClaimsAndVolumes
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning.in_process.intents import selected_node_name
from plimsoll.enact.enactor import Done, Outcome, Overtaken
from plimsoll.processes.controller.in_process.calls import ProvisionerCalls, ProvisionerQuestion
from plimsoll.processes.controller.in_process.operation_metrics import ControllerOperationMetrics
from plimsoll.processes.controller.in_process.provisioners import protocol
from plimsoll.processes.controller.in_process.provisioners.protocol import ProvisionerError, Trouble
from plimsoll.processes.controller.in_process.provisioners.registry import Registry
from plimsoll.reconcile.loop import Tools
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import Kind, typed

log = logging.getLogger(__name__)

Object = TypeVar("Object", PersistentVolume, PersistentVolumeClaim)

ATTEMPTS = 5

CLAIMS = typed(PersistentVolumeClaim)
VOLUMES = typed(PersistentVolume)
SECRETS = typed(Secret)


class OperationView(ClaimsAndVolumes, Protocol):
    """The caches, as operations read them."""

    def all_nodes(self) -> Iterable[Node]: ...

    def attached_to(self, volume: str) -> list[str]:
        """The nodes that it is attached to, or on its way to."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationContext:
    tools: Tools
    registry: Registry
    view: Callable[[], OperationView]
    metrics: ControllerOperationMetrics
    calls: ProvisionerCalls

    async def delete_asset(self, provisioner: str, name: str) -> None:
        """What may have been made under this name and is recorded nowhere. Raises ProvisionerError
        and FencedError."""
        found = self.registry.get(provisioner)
        if found is None:
            problem = "no such provisioner is part of this controller"
            raise ProvisionerError(Trouble.TRY_AGAIN, problem)
        request = protocol.DeleteRequest(volume_name=name, volume=None, secret=self.read_secret)
        with self.metrics.measured(provisioner, "volume_delete"):
            question = ProvisionerQuestion(provisioner=provisioner, asset=name, what="deletion")
            await self.calls.ask(question, lambda: found.delete(request))

    async def find_volume(self, name: str) -> PersistentVolume | None:
        """As the server knows it, not as it was seen last."""
        return await self.tools.client.find(VOLUMES, ObjectKey("", name))

    async def find_claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return await self.tools.client.find(CLAIMS, key)

    def has_lost_node(self, claim: PersistentVolumeClaim | None) -> bool:
        """Whether the node that is selected for the claim is gone."""
        selected = "" if claim is None else selected_node_name(claim)
        return bool(selected) and self.view().node(selected) is None

    async def enact(self, plan: Plan) -> Outcome:
        outcome = await self.tools.enactor.enact(plan)
        if isinstance(outcome, Done):
            self.tools.observed.written(outcome.left)
        return outcome

    async def write_about(
        self, kind: Kind[Object], object_: Object, decide: Callable[[Object], Plan]
    ) -> bool:
        """Decide and write again after each conflict; False if it was not written.

        What is gone, or is another one by now, needs nothing to be written about it.
        """
        known = object_
        for _ in range(ATTEMPTS):
            outcome = await self.enact(decide(known))
            if not isinstance(outcome, Overtaken):
                return isinstance(outcome, Done)
            found = await self.tools.client.find(kind, known.key)
            if found is None or found.uid != known.uid:
                return True
            known = found
        return False

    async def read_secret(self, reference: ObjectKey) -> protocol.Secret:
        """For the moment of one call: it is kept and shown nowhere."""
        try:
            return (await self.tools.client.get(SECRETS, reference)).data
        except KubeError as error:
            missing = error.failure is Failure.NOT_FOUND
            problem = "does not exist" if missing else f"cannot be read ({error.failure})"
            message = f"secret {reference} {problem}"
            raise ProvisionerError(Trouble.TRY_AGAIN, message) from error
