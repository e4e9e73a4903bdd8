"""The scene of two claims: both volumes on one node, or none of them stays there.

What is told of the attempts is what scheduler and provisioners noted, as a watch showed it.
"""

import re
from collections.abc import Iterable, Iterator

from plimsoll.api.meta import ObjectKey
from plimsoll.api.quantity import parse_bytes
from plimsoll.api.storage import CSIDriver
from plimsoll.decide.provisioning.intents import Intent, IntentState
from plimsoll.decide.scheduling.binding.groups import Group, GroupState
from plimsoll.ui.demo.objects import claim, only_on, pod, rather_on
from plimsoll.ui.demo.stage import DemoFailedError, DemoStage, Say
from plimsoll.ui.local_cluster.objects import LOCAL
from plimsoll.wire.kind import typed
from plimsoll.wire.parameters import merge_patch

FILLER, APP = "filler", "app"
PODS_TOGETHER = (FILLER, APP)
NETWORK, DISK = "journal", "records"
"""The claims of the pod: of simulated network storage, and of a local disk."""
FILLING, WANTED = "640Mi", "800Mi"
"""A node has two disks of 1Gi. Earlier steps leave at most 320Mi on one of them, so that two
volumes of the first size fit beside. They leave no room for one of the second; other nodes have
it."""
CODE = re.compile(r"code = (\w+)")


class TogetherScene:
    def __init__(self, stage: DemoStage, say: Say) -> None:
        self._stage = stage
        self._say = say

    async def play(self) -> None:
        """Raises DemoFailedError and KubeError."""
        stage, node = self._stage, self._stage.cluster.wanted.names[0]
        await self._track_capacity(is_tracked=False)
        left = await self._fill(node)
        zones = await stage.capacity("zonal")
        since = await stage.now()
        await stage.create(
            claim(NETWORK, "64Mi", class_="zonal"),
            claim(DISK, WANTED),
            rather_on(node, pod(APP, NETWORK, DISK)),
        )
        self._say(
            f"7. Capacity of local disks is not tracked for a moment; {node} has {left} of it left."
        )
        self._say(
            f"   A pod asks for 64Mi of class zonal and {WANTED} of class local, rather on {node}:"
        )
        for line in told(await stage.noted(since, APP)):
            self._say(f"     {line}")
        running = await stage.running(APP)
        if running.spec.node_name == node:
            raise DemoFailedError(f"{APP} runs on {node}, which has no room for it")
        zone = stage.cluster.wanted.zone_of(node)
        await stage.until_capacity("local", lambda free: free[node] == left)
        await stage.until_capacity("zonal", lambda free: free[zone] == zones[zone])
        self._say(
            f"   {APP} is Running on {running.spec.node_name} with both; nothing of it is left on "
            f"{node} or in its zone."
        )
        await self._track_capacity(is_tracked=True)

    async def _track_capacity(self, *, is_tracked: bool) -> None:
        """Whether the scheduler looks at what is published for local disks."""
        patch = merge_patch({"spec": {"storageCapacity": is_tracked}})
        await self._stage.client.patch(typed(CSIDriver), ObjectKey("", LOCAL), patch)

    async def _fill(self, node: str) -> str:
        """What is left on the node then."""
        names = [f"{FILLER}-{number}" for number in (1, 2)]
        filling = (claim(name, FILLING) for name in names)
        await self._stage.create(*filling, only_on(node, pod(FILLER, *names)))
        await self._stage.running(FILLER)
        free = await self._stage.until_capacity(
            "local", lambda free: parse_bytes(free[node]) < parse_bytes(WANTED)
        )
        return free[node]


def told(noted: Iterable[Group | Intent]) -> Iterator[str]:
    """Of each attempt, in a line or two, how it ended. Raises DemoFailedError if none failed, or
    none succeeded: there is no story then."""
    notes = [*noted]
    last = {note.attempt: note for note in notes if isinstance(note, Group) and note.pod == APP}
    ends = [group.state for group in last.values()]
    if ends[:1] != [GroupState.UNDONE] or ends[-1:] != [GroupState.PUBLISHING]:
        raise DemoFailedError(f"the attempts for pod {APP} ended otherwise: {ends}")
    for group in last.values():
        where = f"attempt {group.attempt} on {group.node}:"
        if group.state is GroupState.PUBLISHING:
            yield f"{where} all volumes are made, then recorded"
            continue
        code = CODE.search(group.why)
        yield f"{where} {group.why_claim} is refused ({code.group(1) if code else group.why})"
        for held in group.claims:
            if held.name != group.why_claim:
                intents = (note for note in notes if isinstance(note, Intent))
                own = [i.state for i in intents if (i.hold, i.uid) == (group.hold_id, held.uid)]
                yield f"{' ' * len(where)} {held.name} {_became(own)}"


def _became(states: list[IntentState]) -> str:
    if IntentState.UNDONE not in states:
        return "was not made yet, and is not"
    made = "was made and held back" if IntentState.MADE in states else "was being made"
    return f"{made}, and is deleted again"
