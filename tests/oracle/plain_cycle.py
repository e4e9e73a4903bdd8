"""One scheduling cycle of kube-scheduler, played node by node with the plain rules."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.reasons import FIT, Judgement, Verdict
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules.narrowing import Narrowing, narrow
from tests.oracle.cluster_cases import Answer, shown
from tests.oracle.plain_plugins import FILTERS, SCORES, Asked, NodeTest, PreparedFilter

NO_NODES = "no nodes available to schedule pods"


@dataclass(slots=True)
class PlainCycle:
    asked: Asked
    nominated: Sequence[Pod]
    prepared: dict[str, PreparedFilter | Judgement] = field(init=False)

    def __post_init__(self) -> None:
        self.prepared = {rule.value: prepare(self.asked) for rule, prepare in FILTERS.items()}

    @property
    def nodes(self) -> Sequence[Node]:
        return self.asked.view.all_nodes()

    def plugins(self) -> Answer:
        """Each by itself, on every node."""
        return {name: self._plugin(prepared) for name, prepared in self.prepared.items()}

    def _plugin(self, prepared: PreparedFilter | Judgement) -> Answer:
        if isinstance(prepared, Judgement):
            return {"preFilter": shown(prepared)}
        judged = {node.name: prepared.judge(node, self._pods_on(node)) for node in self.nodes}
        failed = {name: shown(each) for name, each in judged.items() if not each.is_fit}
        status = shown(FIT)
        if isinstance(prepared, NodeTest) and prepared.names is not None:
            status["nodeNames"] = sorted(prepared.names)
        return {"preFilter": status} | ({"fail": failed} if failed else {})

    def _pods_on(self, node: Node) -> Sequence[Pod]:
        return self.asked.view.pods_on(node.name)

    def result(self) -> Answer:
        """All together."""
        if not self.nodes:
            return {"error": NO_NODES}
        for name, prepared in self.prepared.items():
            if isinstance(prepared, Judgement) and prepared.verdict is Verdict.ERROR:
                return {"error": f'running PreFilter plugin "{name}": {prepared.sentences[0]}'}
            if isinstance(prepared, Judgement) and not prepared.is_fit:
                return self._rejected(prepared, [name], {"plugin": name})
        narrowing = narrow(self.asked.pod)
        if isinstance(narrowing, Rejected):
            return self._rejected(narrowing.judgement, sorted(narrowing.rules), {})
        return self._own_nomination(narrowing) or self._judged(narrowing)

    def _rejected(self, judgement: Judgement, plugins: Sequence[str], plugin: Answer) -> Answer:
        return {
            "feasible": [],
            "fitError": f"0/{len(self.nodes)} nodes are available: {judgement.sentences[0]}.",
            "otherNodes": shown(judgement) | plugin,
            "unschedulablePlugins": [*plugins],
        }

    def _own_nomination(self, narrowing: Narrowing | None) -> Answer | None:
        """The node that was promised to the pod is taken if it will do."""
        name = self.asked.pod.status.nominated_node_name
        node = self.asked.view.nodes.get(name)
        is_known = node is not None and (narrowing is None or name in narrowing.names)
        if node is None or not is_known or self.status(node) is not None:
            return None
        others = [each for each in self.nodes if each.name != name]
        unseen = {"otherNodes": {"code": Verdict.UNRESOLVABLE.value}} if others else {}
        return {"feasible": [name]} | unseen

    def _judged(self, narrowing: Narrowing | None) -> Answer:
        names = {node.name for node in self.nodes}
        looked_at = names if narrowing is None else names & narrowing.names
        statuses = {node.name: self.status(node) for node in self.nodes if node.name in looked_at}
        refused = {name: status for name, status in statuses.items() if status is not None}
        feasible = sorted(statuses.keys() - refused.keys())
        answer: Answer = {"feasible": feasible} | ({"nodes": refused} if refused else {})
        if narrowing is not None and names - looked_at:
            code = Verdict.UNRESOLVABLE.value
            answer["otherNodes"] = {"code": code, "reasons": [narrowing.sentence]}
        return answer if feasible else answer | self._refusals(refused, narrowing)

    def _refusals(self, refused: Mapping[str, Answer], narrowing: Narrowing | None) -> Answer:
        found = Counter(reason for each in refused.values() for reason in each["reasons"])
        plugins = {each["plugin"] for each in refused.values()}
        if narrowing is not None:
            plugins |= {rule.value for rule in narrowing.rules}
            found += Counter({narrowing.sentence: len(self.nodes) - len(refused)})
        listed = sorted(f"{number} {reason}" for reason, number in found.items())
        return {
            "fitError": f"0/{len(self.nodes)} nodes are available: {', '.join(listed)}.",
            "unschedulablePlugins": sorted(plugins),
        }

    def status(self, node: Node) -> Answer | None:
        """Against the node, with the pods that are to come there and then without; None: it will
        do."""
        coming = [pod for pod in self.nominated if self._counts_on(pod, node)]
        with_them = self._first_failure(node, coming)
        return with_them if with_them or not coming else self._first_failure(node, [])

    def _counts_on(self, other: Pod, node: Node) -> bool:
        pod = self.asked.pod
        return (
            other.status.nominated_node_name == node.name
            and other.priority >= pod.priority
            and other.uid != pod.uid
        )

    def _first_failure(self, node: Node, coming: Sequence[Pod]) -> Answer | None:
        pods = [*self._pods_on(node), *(placed(pod, node) for pod in coming)]
        for name, prepared in self.prepared.items():
            if isinstance(prepared, Judgement):
                continue
            state = prepared
            for pod in coming:
                state = state.with_pod(placed(pod, node), node, 1)
            judgement = state.judge(node, pods)
            if not judgement.is_fit:
                return shown(judgement) | {"plugin": name}
        return None

    def scoring(self, feasible: Sequence[str]) -> Answer:
        if not feasible:
            return {}
        nodes = [node for node in self.nodes if node.name in feasible]
        try:
            found = {name: score(self.asked, nodes) for name, (_, score) in SCORES.items()}
        except ValueError as error:
            return {"scoreError": {"code": "Error", "reasons": [str(error)]}}
        scores = {name: each for name, each in found.items() if each is not None}
        rows: Answer = {}
        for node in feasible:
            normalized = {name: each.normalized[node] for name, each in scores.items()}
            raw = {n: each.raw[node] for n, each in scores.items() if each.raw is not None}
            total = sum(SCORES[name][0] * value for name, value in normalized.items())
            rows[node] = {"normalized": normalized, "raw": raw, "total": total}
        best = max(row["total"] for row in rows.values())
        return {
            "scores": rows,
            "scoreSkipped": sorted(found.keys() - scores.keys()),
            "best": [name for name, row in rows.items() if row["total"] == best],
        }


def placed(pod: Pod, node: Node) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node.name))


def gates(pod: Pod) -> Iterator[str]:
    return (gate.name for gate in pod.spec.scheduling_gates)
