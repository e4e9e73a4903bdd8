"""Node lifecycle without a kube-controller-manager: `decide.cluster.node_lifecycle` for all nodes.

A survey of all nodes is taken every few seconds. A single node is looked at when it changes, and
when the survey has found something about it.
"""

from datetime import timedelta

from plimsoll.api.core import Lease, Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.cluster.node_lifecycle.health import (
    decide_pods_unready,
    decide_silence,
    is_silent,
    is_unknown,
    last_sign,
    registered,
    removed,
)
from plimsoll.decide.cluster.node_lifecycle.survey import NO_SURVEY, Survey, SurveySettings, look
from plimsoll.decide.cluster.node_lifecycle.taints import decide_taints, is_given_up
from plimsoll.decide.cluster.node_lifecycle.zones import zone_of
from plimsoll.decide.node.node_object import LEASES
from plimsoll.decide.plan import Plan
from plimsoll.reconcile.indexes import PODS_BY_NODE, node_of
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.parameters import Selection

ALL_NODES = ObjectKey("", "all nodes")
"""Stands for the survey; no node is called like that."""
DEFAULTS = SurveySettings()


class NodeLifecycle(Loop):
    name = "node-lifecycle"

    def __init__(self, tools: Tools, settings: SurveySettings = DEFAULTS) -> None:
        super().__init__(tools)
        self._settings = settings
        self._nodes = tools.observed.of(Node)
        self._pods = tools.observed.of(Pod)
        self._leases = tools.observed.of(Lease)
        self._leases.only(Selection(namespace=LEASES))
        self._pods.index(PODS_BY_NODE, node_of)
        self._nodes.on_change(self.add_changed)
        self._survey: Survey = NO_SURVEY
        self._uids: dict[str, str] = {}
        self._given_up = tools.metrics.counter(
            "node_collector_evictions_total", "Nodes whose pods were ended.", ["zone"]
        )
        self.queue.add(ALL_NODES)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        if key == ALL_NODES:
            await self._take_survey()
            return self._settings.every
        node = self._nodes.view().get(key)
        if node is not None and not node.is_being_deleted:
            await self._tend(node)
        return None

    async def _take_survey(self) -> None:
        nodes = self._nodes.view().objects
        leases = {key.name: lease for key, lease in self._leases.view().objects.items()}
        now = self.tools.clock.monotonic()
        before = self._survey
        self._survey = look(before, nodes.values(), leases, now=now, settings=self._settings)
        await self._tell_of_changes(before)
        for key, node in nodes.items():
            if key.name in self._survey.silent or not node.is_ready or is_given_up(node):
                self.queue.add(key)

    async def _tell_of_changes(self, before: Survey) -> None:
        """Nodes that were there when this controller began are no news."""
        uids = {key.name: node.uid for key, node in self._nodes.view().objects.items()}
        gone = [removed(name, uid) for name, uid in self._uids.items() if name not in uids]
        come = [registered(name, uid) for name, uid in uids.items() if name not in self._uids]
        self._uids = uids
        if before.looked_at is not None and (gone or come):
            await self.enact(ALL_NODES, Plan(reason="NodesChanged", writes=(*gone, *come)))

    async def _tend(self, node: Node) -> None:
        now = self.tools.clock.now()
        if self._is_still_silent(node):
            await self.enact(node.key, decide_silence(node, now))
            node = self._nodes.view().get(node.key) or node
        if is_unknown(node):
            pods = self._pods.view().by(PODS_BY_NODE, node.name).values()
            await self.enact(node.key, decide_pods_unready(pods, now))
        was_given_up = is_given_up(node)
        await self.enact(node.key, decide_taints(node, self._survey.leave_for(node.name), now))
        after = self._nodes.view().get(node.key)
        if after is not None and is_given_up(after) and not was_given_up:
            self._given_up.labels(zone_of(after)).inc()

    def _is_still_silent(self, node: Node) -> bool:
        """As the survey found it: a node that was heard of since must not be marked again."""
        if node.name not in self._survey.silent:
            return False
        lease = self._leases.view().get(ObjectKey(LEASES, node.name))
        now = self.tools.clock.monotonic()
        sign = last_sign(self._survey.signs[node.name], node, lease, now)
        return is_silent(sign, self._settings.grace, now)
