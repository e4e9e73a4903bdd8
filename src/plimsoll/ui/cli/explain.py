"""`plimsoll explain`: why a pod has no node, or a claim no volume. Reads, never writes."""

import asyncio
import json
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import click
import uvloop
import yaml

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document, Resource, tables
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.columns.cluster import Columns
from plimsoll.decide.columns.rules.judge import Settings
from plimsoll.decide.columns.rules.late_claims import Policy
from plimsoll.decide.explaining.claim import ClaimExplanation, explain_claim
from plimsoll.decide.explaining.pod import PodExplanation, PodState, explain_pod
from plimsoll.decide.explaining.standing import ClaimState
from plimsoll.decide.schedule import Kernel
from plimsoll.decide.scheduling.reasons import Seen
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import environment
from plimsoll.runtime.ids import system_chance
from plimsoll.ui.cli import explain_output as output
from plimsoll.ui.cli.explain_output import Ages
from plimsoll.wire.connect import connect
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import Surroundings, Wish
from plimsoll.wire.kubeconfig_files import KubeconfigError
from plimsoll.wire.parameters import EVERYTHING, Selection

KUBE_SCHEDULER = "default-scheduler"
UNFINISHED = Selection(fields="status.phase!=Succeeded,status.phase!=Failed")
KINDS: tuple[type[ApiObject], ...] = (
    Node,
    StorageClass,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    VolumeAttachment,
    PersistentVolume,
    PersistentVolumeClaim,
)
FORMATS = click.Choice(["table", "json", "yaml"])
AT_ONCE = 8


@click.command()
@click.argument("what", metavar="pod/[NAMESPACE/]NAME | claim/[NAMESPACE/]NAME")
@click.option(
    "--kubeconfig", default="", metavar="FILE", help="Which cluster; default: as kubectl."
)
@click.option("--context", "context_name", default="", metavar="NAME", help="Of the kubeconfig.")
@click.option(
    "--policy",
    type=click.Choice([policy.value for policy in Policy]),
    help="Whose rules; by default those of the scheduler that the pod names: compatible for"
    " default-scheduler, default for others.",
)
@click.option("-o", "output_format", type=FORMATS, default="table", show_default=True)
def explain(
    what: str, *, kubeconfig: str, context_name: str, policy: str | None, output_format: str
) -> None:
    """Tell why a pod has no node, or a claim no volume, on any cluster; nothing is changed.

    For every node and claim: a code, what is wanted, what was seen, in which object and how old
    that is. Nodes that the same things speak against are shown together.

    Exit codes: 0 all is well, or some node would do; 1 something speaks against all nodes, the
    object does not exist, or the cluster could not be reached; 2 bad usage.
    """
    kind, _, rest = what.partition("/")
    if kind not in READERS or not rest or rest.count("/") > 1:
        raise click.UsageError(f"{what}: write pod/NAMESPACE/NAME or claim/NAMESPACE/NAME")
    wish = Wish(kubeconfig=kubeconfig, context=context_name)
    around = Surroundings(environment=environment(), clock=SystemClock())
    asked = Policy(policy) if policy else None
    try:
        client = connect(wish, around, system_chance(), manager="plimsoll-explain")
        found, is_well = uvloop.run(_explained(client, kind, output.namespaced(rest), asked))
    except KubeconfigError as error:
        raise click.UsageError(str(error)) from error
    except KubeError as error:
        raise click.ClickException(str(error)) from error
    click.echo(_shown(found, output_format))
    sys.exit(0 if is_well else 1)


Shown = tuple[str, Document]
"""As text and as a document."""


def _shown(found: Shown, output_format: str) -> str:
    text, document = found
    if output_format == "json":
        return json.dumps(document, indent=2)
    if output_format == "yaml":
        return yaml.safe_dump(document, sort_keys=False).rstrip()
    return text


async def _explained(
    client: KubeClient, kind: str, key: ObjectKey, policy: Policy | None
) -> tuple[Shown, bool]:
    try:
        observed = await _observed(client)
        return await READERS[kind](client, observed, key, policy)
    finally:
        await client.close()


async def _observed(client: KubeClient) -> list[ApiObject]:
    """Everything that decisions look at."""
    pages = await asyncio.gather(*(client.list(typed(type_), EVERYTHING) for type_ in KINDS))
    pods = await client.list(typed(Pod), UNFINISHED)
    return [*(item for page in pages for item in page.items), *pods.items]


def policy_of(scheduler: str) -> Policy:
    """By whose rules the pods of a scheduler are judged."""
    return Policy.COMPATIBLE if scheduler == KUBE_SCHEDULER else Policy.DEFAULT


def _kernel(observed: Iterable[ApiObject], policy: Policy) -> Kernel:
    return Kernel(Columns.of(observed), Settings(policy=policy))


async def _read_pod(
    client: KubeClient, observed: list[ApiObject], key: ObjectKey, policy: Policy | None
) -> tuple[Shown, bool]:
    pod = await client.get(typed(Pod), key)
    scheduler = pod.spec.scheduler_name or KUBE_SCHEDULER
    chosen = policy or policy_of(scheduler)
    explained = explain_pod(pod, _kernel(observed, chosen))
    ages = await _ages(client, explained)
    text = output.pod_text(explained, scheduler, chosen, ages)
    document = output.pod_document(explained, scheduler, chosen, ages)
    return (text, document), explained.state in (PodState.SCHEDULED, PodState.SCHEDULABLE)


async def _read_claim(
    client: KubeClient, observed: list[ApiObject], key: ObjectKey, policy: Policy | None
) -> tuple[Shown, bool]:
    pods = [each for each in observed if isinstance(each, Pod) and key in each.claims]
    names = {pod.spec.scheduler_name or KUBE_SCHEDULER for pod in pods if not pod.spec.node_name}
    chosen = policy or policy_of(min(names, default=KUBE_SCHEDULER))
    explained = explain_claim(key, pods, _kernel(observed, chosen))
    ages = await _ages(client, explained)
    texts, found = [], []
    for each in explained.pods:
        scheduler = each.pod.spec.scheduler_name or KUBE_SCHEDULER
        texts.append(output.pod_text(each, scheduler, chosen, ages))
        found.append(output.pod_document(each, scheduler, chosen, ages))
    text = output.claim_text(explained, texts, ages)
    document = output.claim_document(explained, found, ages)
    return (text, document), explained.claim.state is ClaimState.BOUND


READERS = {"pod": _read_pod, "claim": _read_claim, "pvc": _read_claim}


async def _ages(
    client: KubeClient, explained: PodExplanation | ClaimExplanation
) -> dict[Seen, Ages]:
    """Of the objects that are named; there are as many as groups of nodes."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def age(seen: Seen) -> tuple[Seen, Ages]:
        async with limit:
            return seen, await _age(client, seen)

    return dict(await asyncio.gather(*map(age, sorted(output.seen_in(explained)))))


async def _age(client: KubeClient, seen: Seen) -> Ages:
    resource = _resource(seen.kind)
    found = None
    if resource is not None:
        found = await client.find(documents(resource), seen.key)
    if found is None:
        return output.NO_AGES
    metadata: dict[str, Any] = found["metadata"]
    times = [metadata.get("creationTimestamp")]
    times += [entry.get("time") for entry in metadata.get("managedFields", ())]
    known = [datetime.fromisoformat(time) for time in times if time]
    now = client.clock.now()
    if not known:
        return output.NO_AGES
    made = datetime.fromisoformat(metadata["creationTimestamp"])
    return Ages(now - made, now - max(known))


def _resource(kind: str) -> Resource | None:
    for resource in tables().resources:
        if resource.kind == kind and resource.version == "v1" and resource.verbs:
            return resource
    return None
