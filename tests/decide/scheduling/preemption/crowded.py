"""Random clusters that are full of pods of different importance."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.policy import PodDisruptionBudget
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.pods.nominations import Nominations
from plimsoll.decide.scheduling.view import Cluster
from tests.builders import a_node, a_pod
from tests.decide.scheduling.builders import a_budget, ranked
from tests.decide.scheduling.columns.clusters import Chance, taint

START = datetime(2026, 1, 1, tzinfo=UTC)
GPU = "example.com/gpu"
APPS = ("web", "db", "cache")


def a_crowded_node(chance: Chance, name: str) -> Node:
    taints = [taint(chance)] if chance.happens(15) else []
    node = a_node(name, cpu=chance.choice(["2", "4"]), memory="4Gi", taints=taints)
    room = {**node.status.allocatable, "pods": chance.choice(["3", "5", "110"])}
    if chance.happens(50):
        room[GPU] = chance.choice(["1", "2"])
    return msgspec.structs.replace(
        node, status=msgspec.structs.replace(node.status, allocatable=room)
    )


def requests(chance: Chance) -> dict[str, str]:
    found = {"cpu": chance.choice(["500m", "1", "2"]), "memory": chance.choice(["0", "1Gi"])}
    if chance.happens(20):
        found[GPU] = "1"
    return found


def a_running_pod(chance: Chance, name: str, node: str) -> Pod:
    labels = {"app": chance.choice(APPS)} if chance.happens(80) else {}
    pod = a_pod(name, requests=requests(chance), node=node, labels=labels)
    started = START + timedelta(minutes=chance.randint(0, 5)) if chance.happens(85) else None
    return ranked(pod, chance.choice([-1, 0, 0, 5, 10]), started=started)


def a_crowd(chance: Chance) -> Iterator[ApiObject]:
    for number in range(chance.randint(1, 7)):
        node = f"node-{number}"
        yield a_crowded_node(chance, node)
        for place in range(chance.randint(0, 5)):
            yield a_running_pod(chance, f"pod-{number}-{place}", node)
    for app in chance.some(APPS, most=2):
        yield a_budget(app, labels={"app": app}, allowed=chance.randint(0, 2))


def a_waiting_pod(chance: Chance, name: str = "high") -> Pod:
    return ranked(a_pod(name, requests=requests(chance)), chance.choice([0, 5, 10, 20]))


def promised_pods(chance: Chance) -> list[Pod]:
    return [
        ranked(
            a_waiting_pod(chance, f"promised-{number}"),
            chance.choice([0, 10, 20]),
            nominated=f"node-{chance.randint(0, 6)}",
        )
        for number in range(chance.randint(0, 2))
    ]


class Crowd:
    """The same cluster twice: as plain lists, and as columns."""

    def __init__(self, chance: Chance) -> None:
        self.objects = [*a_crowd(chance)]
        self.view = Cluster.of(sorted(self.objects, key=lambda each: each.key))
        self.columns = Columns.of(self.objects)
        self.promised = promised_pods(chance)
        for pod in self.promised:
            self.columns.nominations.put(pod)

    @property
    def nominations(self) -> Nominations:
        return self.columns.nominations

    @property
    def budgets(self) -> list[PodDisruptionBudget]:
        return [each for each in self.objects if isinstance(each, PodDisruptionBudget)]
