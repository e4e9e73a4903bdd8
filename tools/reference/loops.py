"""docs/reference/loops.md: the controller's loops, as its table lists them."""

from plimsoll.processes.controller.loops import LOOPS
from tools.reference.markdown import code, document, table
from tools.reference.workbench import controller_tools

INTRODUCTION = """\
`plimsoll controller --controllers` takes these names, separated by commas: a name adds a loop,
`-name` leaves one out, `*` stands for the default. By default all of them run beside the embedded
API server, where no kube-controller-manager does this work; on another cluster only those marked
*yes* run unless they are named."""


def page() -> str:
    rows = [
        (
            code(name),
            f"{entry.about[:1].upper()}{entry.about[1:]}.",
            ", ".join(_watched(name)) or "found out at run time",
            "yes" if entry.on_cluster else "",
        )
        for name, entry in LOOPS.items()
    ]
    head = ("loop", "what it does", "watches", "by default on any cluster")
    return document("Control loops", INTRODUCTION, table(head, rows))


def _watched(name: str) -> list[str]:
    """The kinds that the loop names when it is made."""
    tools = controller_tools()
    LOOPS[name].make(tools)
    prefix = "watch "
    runs = tools.observed.start()
    return sorted(run.removeprefix(prefix) for run in runs if run.startswith(prefix))
