"""docs/reference/loops.md: the controller's loops, as its table lists them."""

from plimsoll.processes.controller.loops import LOOPS
from tools.reference.markdown import code, document, table
from tools.reference.workbench import controller_tools

INTRODUCTION = """\
`plimsoll controller --controllers` takes these names, separated by commas: a name adds a loop,
`-name` leaves one out, `*` stands for the default. By default all of them run beside the embedded
API server, where no kube-controller-manager does this work; `repair` only if `--repair` names
[rules](../how-to/repair.md), `rollback` only with
[`--rollback`](../how-to/take-back-unused-volumes.md), `takeover` only with
[`--takeover`](../how-to/take-over-a-domain.md)."""
NOTHING_ELSEWHERE = """\
On any other cluster none runs unless it is named: see
[how to do that](../how-to/run-beside-real-kubernetes.md)."""


def page() -> str:
    rows = [
        (
            code(name),
            f"{entry.about[:1].upper()}{entry.about[1:]}.",
            ", ".join(_watched(name)) or "what it is asked to",
        )
        for name, entry in LOOPS.items()
    ]
    loops = table(("loop", "what it does", "watches"), rows)
    return document("Control loops", INTRODUCTION, _elsewhere(), loops)


def _elsewhere() -> str:
    names = ", ".join(code(name) for name, entry in LOOPS.items() if entry.on_cluster)
    return f"On any other cluster the default is: {names}." if names else NOTHING_ELSEWHERE


def _watched(name: str) -> list[str]:
    """The kinds that the loop names when it is made."""
    tools = controller_tools()
    LOOPS[name].make(tools)
    prefix = "watch "
    runs = tools.observed.start()
    return sorted(run.removeprefix(prefix) for run in runs if run.startswith(prefix))
