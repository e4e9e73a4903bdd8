"""Asks `plimsoll.decide.scheduling` which nodes suit a pod, why others do not, and which is best.

Every case is answered twice: node by node with the plain rules, and for all nodes at once with the
columns. Both must agree with kube-scheduler. Columns do not tell everything; what they tell is
compared with the same part of the expectation, see `kernel_cycle.told`.
"""

from collections.abc import Sequence
from typing import Any

from plimsoll.api.pods import Pod
from plimsoll.api.typed import from_document
from tests.oracle import kernel_cycle
from tests.oracle.cluster_cases import Answer, cluster_of
from tests.oracle.comparison import agrees
from tests.oracle.plain_cycle import PlainCycle, gates
from tests.oracle.plain_plugins import Asked

SUCCESS = {"code": "Success"}


def filter_score(case: dict[str, Any]) -> Answer:
    return answers(case, None)


def answers(case: dict[str, Any], feasible: Sequence[str] | None) -> Answer:
    """Given feasible nodes, these are compared by their scores, and not those that we find."""
    return {"plain": plain_answer(case, feasible), "columns": kernel_cycle.answer(case, feasible)}


def plain_answer(case: dict[str, Any], feasible: Sequence[str] | None) -> Answer:
    pod, view = from_document(Pod, case["pod"]), cluster_of(case)
    nominated = [from_document(Pod, each) for each in case.get("nominatedPods") or ()]
    cycle = PlainCycle(Asked(pod, view, case["pod"]), nominated)
    result = cycle.result()
    scoring = cycle.scoring(result.get("feasible") or () if feasible is None else feasible)
    return {
        "preEnqueue": _pre_enqueue(pod),
        "plugins": cycle.plugins(),
        "result": result,
    } | scoring


def _pre_enqueue(pod: Pod) -> Answer:
    names = " ".join(gates(pod))
    if not names:
        return SUCCESS
    return {
        "code": "UnschedulableAndUnresolvable",
        "plugin": "SchedulingGates",
        "reasons": [f"waiting for scheduling gates: [{names}]"],
    }


def filter_score_agrees(expected: Answer, actual: Answer) -> bool:
    return all(agrees(*pair) for pair in compared(expected, actual).values())


def compared(expected: Answer, actual: Answer) -> dict[str, tuple[Any, Any]]:
    """What is expected and what was answered, for each of the two ways."""
    return {
        "plain": (without_free_texts(expected), without_free_texts(actual["plain"])),
        "columns": (kernel_cycle.told(expected), actual["columns"]),
    }


def without_free_texts(answer: Any) -> Any:
    """What is said about selectors that cannot be read is up to us: only that it is said counts."""
    if isinstance(answer, dict):
        if answer.get("code") == "Error":
            return {"code": "Error"}
        kept = {name: without_free_texts(value) for name, value in answer.items()}
        return kept | {"error": True} if "error" in kept else kept
    return answer
