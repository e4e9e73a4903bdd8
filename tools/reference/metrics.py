"""docs/reference/metrics.md: what the processes count, asked of their registries."""

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import uvloop
from prometheus_client import CollectorRegistry
from prometheus_client.registry import Collector

from plimsoll.decide.capacity.publishing import Publisher
from plimsoll.decide.capacity.reports import CapacitySettings as Publishing
from plimsoll.processes.controller.loops import LOOPS
from plimsoll.processes.controller.settings import COMPONENT
from plimsoll.processes.provisioner.call_metrics import CallMetrics
from plimsoll.processes.provisioner.capacity.loop import Capacity, CapacityContext
from plimsoll.processes.provisioner.link import DriverLink
from plimsoll.processes.provisioner.operation_metrics import ProvisionerOperationMetrics
from plimsoll.reconcile.running import LoopEnvironment, RunningLoops
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.metrics import Metrics
from plimsoll.runtime.supervise import Supervision, supervise
from plimsoll.ui.cli.main import COMMANDS
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.kube import KubeClient
from tools.reference.markdown import code, document, table
from tools.reference.workbench import api_server, client

INTRODUCTION = """\
In Prometheus' text format. Names that Kubernetes' own programs use mean the same here; the others
begin with `plimsoll_`. Labels are kinds, classes, namespaces, reasons and such, never names of
single claims, volumes, pods or nodes."""


@dataclass(frozen=True, slots=True)
class Described:
    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str


def page() -> str:
    return document(
        "Metrics", INTRODUCTION, *(_section(name) for name in PROCESSES if name in COMMANDS)
    )


def _section(name: str) -> str:
    where, metrics = PROCESSES[name]
    return "\n\n".join([f"## plimsoll {name}", where, _table(metrics())])


def _table(metrics: Iterable[Described]) -> str:
    rows = [
        (code(m.name), m.kind, ", ".join(map(code, m.labels)), m.meaning)
        for m in sorted(metrics, key=lambda metric: metric.name)
    ]
    return table(("name", "type", "labels", "meaning"), rows)


def server_metrics() -> list[Described]:
    return _described(api_server().metrics._registry)  # noqa: SLF001 - no other module asks for it


def controller_metrics() -> list[Described]:
    kube, metrics = client(), Metrics()
    makers = {name: entry.make for name, entry in LOOPS.items()}
    setting = LoopEnvironment(client=kube, component=COMPONENT, metrics=metrics)
    RunningLoops(makers, setting)
    return _supervised(kube, metrics)


def scheduler_metrics() -> list[Described]:
    kube, metrics = client(), Metrics()
    # Imported late: a scheduler in the making must not keep the other pages from being made.
    running = importlib.import_module("plimsoll.processes.scheduler.running")
    settings = importlib.import_module("plimsoll.processes.scheduler.settings")
    running.Scheduler(
        settings.SchedulerSettings(),
        LoopEnvironment(client=kube, component="", metrics=metrics),
    )
    return _supervised(kube, metrics)


def driver_metrics() -> list[Described]:
    metrics = Metrics()
    calls = importlib.import_module("plimsoll.processes.driver.calls")
    calls.Calls(metrics, client().clock)
    inventory = importlib.import_module("plimsoll.processes.driver.inventory")
    metrics.registry.register(inventory.Inventory(lambda: None))
    return _described(metrics.registry)


def node_metrics() -> list[Described]:
    kube, metrics = client(), Metrics()
    main = importlib.import_module("plimsoll.processes.node.main")
    settings = importlib.import_module("plimsoll.processes.node.settings")
    nodes = settings.hollow_nodes(settings.NodeProcessSettings(hollow=1))
    setting = LoopEnvironment(client=kube, component=settings.COMPONENT, metrics=metrics)
    RunningLoops(main.makers(nodes), setting)
    return _supervised(kube, metrics)


def provisioner_metrics() -> list[Described]:
    kube, metrics = client(), Metrics()
    driver = CsiClient(InProcessCsi({}, kube.clock))
    ProvisionerOperationMetrics(metrics)
    context = CapacityContext(
        publisher=Publisher(Publishing(driver="", publisher="", namespace="")),
        link=DriverLink(driver, kube.clock, CallMetrics(metrics)),
        client=kube,
        poll_every=timedelta(minutes=1),
        threads=1,
        holder="",
        retries=Backoff(first=timedelta(seconds=1), limit=timedelta(minutes=5)),
        watches_nodes=True,
    )
    setting = LoopEnvironment(client=kube, component=COMPONENT, metrics=metrics)
    RunningLoops({"capacity": partial(Capacity, context=context)}, setting)
    return _supervised(kube, metrics)


def _supervised(kube: KubeClient, metrics: Metrics) -> list[Described]:
    supervision = Supervision(clock=kube.clock, chance=kube.chance, metrics=metrics)
    uvloop.run(supervise({"nothing": _nothing}, supervision))
    return _described(metrics.registry)


async def _nothing() -> None:
    """A loop that is over at once: that it is kept running is what registers the metric."""


def _described(registry: CollectorRegistry) -> list[Described]:
    # Samples know their labels, but a metric that has counted nothing yet has no samples.
    collectors = list(registry._collector_to_names)  # noqa: SLF001
    return [described for collector in collectors for described in _families(collector)]


def _families(collector: Collector) -> Iterator[Described]:
    for family in collector.collect():
        labels: Iterable[str] = getattr(collector, "_labelnames", ())
        labels = labels or getattr(family, "_labelnames", ())
        ending = "_total" if family.type == "counter" else ""
        yield Described(family.name + ending, family.type, tuple(labels), family.documentation)


Process = tuple[str, Callable[[], list[Described]]]
ON_ITS_PORT = "At `/metrics` on the port that `--metrics-port` names."
PROCESSES: dict[str, Process] = {
    "apiserver": ("At `/metrics`, for clients that may use the API.", server_metrics),
    "controller": (
        f"{ON_ITS_PORT} Those of a loop are there while [that loop](loops.md) runs.",
        controller_metrics,
    ),
    "driver": (f"{ON_ITS_PORT} Without it, nowhere.", driver_metrics),
    "node": (ON_ITS_PORT, node_metrics),
    "provisioner": (
        "At `--metrics-path` of the address that `--http-endpoint` names. Without it, nowhere.",
        provisioner_metrics,
    ),
    "scheduler": (ON_ITS_PORT, scheduler_metrics),
}
