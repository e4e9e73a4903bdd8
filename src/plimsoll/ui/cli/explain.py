"""`plimsoll explain`: why a pod has no node or no volumes, or a claim no volume.

Reads, never writes.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import click
import uvloop
import yaml

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.workloads import Deployment, ReplicaSet
from plimsoll.decide.explain.claim import ClaimExplanation, explain_claim
from plimsoll.decide.explain.pod import PodExplanation, explain_pod
from plimsoll.decide.explain.policies import ChosenPolicy, choose_policy
from plimsoll.decide.explain.remedies import Remedy, find_remedy
from plimsoll.decide.explain.workload import (
    Workload,
    WorkloadExplanation,
    explain_workload,
    pods_of,
)
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.policy import KUBE_SCHEDULER, Policy, scheduler_of
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import environment
from plimsoll.runtime.ids import system_chance
from plimsoll.ui.explain import output
from plimsoll.ui.explain.output import Margin
from plimsoll.ui.explain.reading import ClusterReading, look_closer, read_ages, read_cluster
from plimsoll.ui.explain.reference import Reference, Subject, parse_reference
from plimsoll.wire.connect import connect
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment, find_access
from plimsoll.wire.kubeconfig_files import KubeconfigError
from plimsoll.wire.parameters import Selection

FORMATS = click.Choice(["table", "json", "yaml"])


@click.command()
@click.argument("what", metavar="KIND/[NAMESPACE/]NAME")
@click.option(
    "-n",
    "--namespace",
    default="",
    metavar="NAME",
    help="Where it is; by default the namespace of the context.",
)
@click.option(
    "--kubeconfig", default="", metavar="FILE", help="Which cluster; default: as kubectl."
)
@click.option("--context", "context_name", default="", metavar="NAME", help="Of the kubeconfig.")
@click.option(
    "--policy",
    type=click.Choice([policy.value for policy in Policy]),
    help="Whose rules; by default those that the scheduler which the pod names has published, or"
    " kube-scheduler's.",
)
@click.option("-o", "output_format", type=FORMATS, default="table", show_default=True)
def explain(what: str, *, policy: str | None, output_format: str, **where: str) -> None:
    """Tell why a pod has no node or no volumes, or a claim no volume; nothing is changed.

    KIND is pod, claim (pvc), deploy, sts, job, ds or rs, or the long name; of a workload all pods
    are explained, those with the same answer together.

    For every node and claim: a code, what is wanted, what was seen, in which object and how old
    that is. Nodes that the same things speak against are shown together. What events, leases and
    attachments show to go wrong comes first.

    Exit codes: 0 all is well; 1 something is wrong, the object does not exist, or the cluster could
    not be reached; 2 bad usage.
    """
    wish = ConnectionOptions(kubeconfig=where["kubeconfig"], context=where["context_name"])
    around = KubeconfigEnvironment(environment=environment(), clock=SystemClock())
    asked = Policy(policy) if policy else None
    try:
        usual = find_access(wish, around).namespace
        reference = parse_reference(what, where["namespace"], usual)
        client = connect(wish, around, system_chance(), manager="plimsoll-explain")
        answer = uvloop.run(_answered(client, reference, asked))
    except (KubeconfigError, ValueError) as error:
        raise click.UsageError(str(error)) from error
    except KubeError as error:
        raise click.ClickException(_told(error, what)) from error
    for remark in answer.margin.remarks:
        click.echo(f"remark: {remark}", err=True)
    click.echo(_shown(answer, output_format))
    sys.exit(0 if answer.explained.is_well else 1)


Explained = PodExplanation | ClaimExplanation | WorkloadExplanation


@dataclass(frozen=True, slots=True)
class ExplainAnswer:
    explained: Explained
    margin: Margin


def _told(error: KubeError, what: str) -> str:
    if error.failure is Failure.NOT_FOUND:
        return f"{what} was not found; look for it with kubectl get, or name its namespace with -n"
    if error.failure is Failure.FORBIDDEN:
        return f"{error}; explain needs to list nodes, pods, claims, volumes and storage kinds"
    return str(error)


def _shown(answer: ExplainAnswer, output_format: str) -> str:
    if output_format == "table":
        return _text(answer)
    document = _document(answer)
    if output_format == "json":
        return json.dumps(document, indent=2)
    return yaml.safe_dump(document, sort_keys=False).rstrip()


def _text(answer: ExplainAnswer) -> str:
    match answer.explained:
        case PodExplanation() as pod:
            return output.pod_text(pod, answer.margin)
        case ClaimExplanation() as claim:
            return output.claim_text(claim, answer.margin)
        case WorkloadExplanation() as workload:
            return output.workload_text(workload, answer.margin)


def _document(answer: ExplainAnswer) -> Document:
    match answer.explained:
        case PodExplanation() as pod:
            return output.pod_document(pod, answer.margin)
        case ClaimExplanation() as claim:
            return output.claim_document(claim, answer.margin)
        case WorkloadExplanation() as workload:
            return output.workload_document(workload, answer.margin)


async def _answered(
    client: KubeClient, reference: Reference, asked: Policy | None
) -> ExplainAnswer:
    try:
        return await _Explainer(client, reference.key, asked).explain(reference)
    finally:
        await client.close()


class _Explainer:
    """Reads the cluster once and explains one thing in it."""

    def __init__(self, client: KubeClient, key: ObjectKey, asked: Policy | None) -> None:
        self._client = client
        self._key = key
        self._asked = asked
        self._policies: dict[str, ChosenPolicy] = {}
        self._kernels: dict[Policy, Kernel] = {}

    async def explain(self, reference: Reference) -> ExplainAnswer:
        reading = await read_cluster(self._client, self._key.namespace)
        match reference.subject:
            case Subject.POD:
                return await self._explain_pod(reading)
            case Subject.CLAIM:
                return await self._explain_claim(reading)
            case Subject.WORKLOAD:
                assert reference.workload is not None  # noqa: S101 - the parser saw to it
                workload = await self._client.get(typed(reference.workload), self._key)
                return await self._explain_workload(workload, reading)

    async def _explain_pod(self, reading: ClusterReading) -> ExplainAnswer:
        pod = await self._client.get(typed(Pod), self._key)
        reading = await look_closer(self._client, reading, pod.claims)
        return await self._answer(self._pod(pod, reading), reading)

    async def _explain_claim(self, reading: ClusterReading) -> ExplainAnswer:
        pods = [pod for pod in reading.all(Pod) if self._key in pod.claims]
        waiting = [pod for pod in pods if not pod.spec.node_name]
        claims = {self._key, *(key for pod in waiting for key in pod.claims)}
        reading = await look_closer(self._client, reading, claims)
        explained = explain_claim(
            self._key,
            pods,
            self._kernel(KUBE_SCHEDULER, reading),
            reading.evidence,
            kernel_of=lambda pod: self._kernel(scheduler_of(pod), reading),
        )
        return await self._answer(explained, reading)

    async def _explain_workload(self, workload: Workload, reading: ClusterReading) -> ExplainAnswer:
        owners: list[ApiObject] = [workload]
        if isinstance(workload, Deployment):
            sets = await self._client.list(
                typed(ReplicaSet), Selection(namespace=self._key.namespace)
            )
            owners = [each for each in sets.items if _owner(each) == workload.uid]
        pods = pods_of(owners, reading.all(Pod))
        claims = [key for pod in pods for key in pod.claims]
        reading = await look_closer(self._client, reading, claims)
        explained = [self._pod(pod, reading) for pod in pods]
        answer = explain_workload(workload, explained, owners, reading.evidence)
        return await self._answer(answer, reading)

    def _pod(self, pod: Pod, reading: ClusterReading) -> PodExplanation:
        return explain_pod(pod, self._kernel(scheduler_of(pod), reading), reading.evidence)

    def _kernel(self, scheduler: str, reading: ClusterReading) -> Kernel:
        """That of the policy by which pods of the scheduler are judged."""
        evidence = reading.evidence
        chosen = choose_policy(scheduler, self._asked, evidence.leases, evidence.now)
        self._policies[scheduler] = chosen
        if chosen.policy not in self._kernels:
            self._kernels[chosen.policy] = _kernel(reading.objects, chosen.policy)
        return self._kernels[chosen.policy]

    async def _answer(self, explained: Explained, reading: ClusterReading) -> ExplainAnswer:
        ages = await read_ages(self._client, output.seen_in(explained))
        margin = Margin(
            now=reading.evidence.now,
            ages=ages,
            policies=self._policies,
            remarks=reading.remarks,
            remedies=dict(self._remedies(explained, reading)),
        )
        return ExplainAnswer(explained, margin)

    def _remedies(
        self, explained: Explained, reading: ClusterReading
    ) -> Iterator[tuple[ObjectKey, Remedy]]:
        for pod in _shown_pods(explained):
            kernel = self._kernel(scheduler_of(pod.pod), reading)
            if remedy := find_remedy(pod, kernel):
                yield pod.pod.key, remedy


def _shown_pods(explained: Explained) -> tuple[PodExplanation, ...]:
    match explained:
        case PodExplanation():
            return (explained,)
        case ClaimExplanation():
            return ()  # of its pods only what has to do with the claim is known
        case WorkloadExplanation():
            return tuple(group.example for group in explained.groups)


def _owner(object_: ApiObject) -> str:
    controller = object_.metadata.controller
    return controller.uid if controller else ""


def _kernel(observed: Iterable[ApiObject], policy: Policy) -> Kernel:
    return Kernel(Columns.of(observed), KernelSettings(policy=policy))
