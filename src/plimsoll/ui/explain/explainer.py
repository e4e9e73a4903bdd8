"""Explains one pod, claim or workload: reads the cluster once, and lets decisions judge it."""

from collections.abc import Iterator
from dataclasses import dataclass

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.workloads import Deployment, ReplicaSet
from plimsoll.decide.explain.claim import ClaimExplanation, explain_claim
from plimsoll.decide.explain.pod import PodExplanation, explain_pod
from plimsoll.decide.explain.remedies import Remedy, find_remedy
from plimsoll.decide.explain.workload import (
    Workload,
    WorkloadExplanation,
    explain_workload,
    pods_of,
)
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.policy import KUBE_SCHEDULER, scheduler_of
from plimsoll.ui.explain import output
from plimsoll.ui.explain.margin import Margin
from plimsoll.ui.explain.reading import ClusterReading, look_closer, read_ages, read_cluster
from plimsoll.ui.explain.reference import Reference, Subject
from plimsoll.ui.explain.rules import NOTHING_ASKED, AskedRules, SchedulerRules, rules_of
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Selection

Explained = PodExplanation | ClaimExplanation | WorkloadExplanation


@dataclass(frozen=True, slots=True)
class ExplainAnswer:
    explained: Explained
    margin: Margin

    @property
    def text(self) -> str:
        match self.explained:
            case PodExplanation() as pod:
                return output.pod_text(pod, self.margin)
            case ClaimExplanation() as claim:
                return output.claim_text(claim, self.margin)
            case WorkloadExplanation() as workload:
                return output.workload_text(workload, self.margin)

    @property
    def document(self) -> Document:
        match self.explained:
            case PodExplanation() as pod:
                return output.pod_document(pod, self.margin)
            case ClaimExplanation() as claim:
                return output.claim_document(claim, self.margin)
            case WorkloadExplanation() as workload:
                return output.workload_document(workload, self.margin)


async def explain_reference(
    client: KubeClient, reference: Reference, asked: AskedRules = NOTHING_ASKED
) -> ExplainAnswer:
    """Closes the client. Raises KubeError."""
    try:
        return await _Explainer(client, reference.key, asked).explain(reference)
    finally:
        await client.close()


class _Explainer:
    """Reads the cluster once and explains one thing in it."""

    def __init__(self, client: KubeClient, key: ObjectKey, asked: AskedRules) -> None:
        self._client = client
        self._key = key
        self._asked = asked
        self._rules: dict[str, SchedulerRules] = {}
        """By scheduler name."""

    async def explain(self, reference: Reference) -> ExplainAnswer:
        believed = self._asked.record_namespaces
        reading = await read_cluster(self._client, self._key.namespace, believed)
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
        """By which pods of the scheduler are judged."""
        if scheduler not in self._rules:
            self._rules[scheduler] = rules_of(scheduler, self._asked, reading)
        return self._rules[scheduler].kernel

    async def _answer(self, explained: Explained, reading: ClusterReading) -> ExplainAnswer:
        ages = await read_ages(self._client, output.seen_in(explained))
        remarks = [rules.remark for rules in self._rules.values() if rules.remark]
        margin = Margin(
            now=reading.evidence.now,
            ages=ages,
            policies={name: rules.chosen for name, rules in self._rules.items()},
            remarks=(*reading.remarks, *remarks),
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
