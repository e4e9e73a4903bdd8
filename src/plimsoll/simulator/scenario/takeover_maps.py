"""What an administrator writes into the takeover map."""

import json

import msgspec

from plimsoll.simulator.cluster.shape import MAP_ENTRY, TAKEOVER_MAP
from plimsoll.simulator.scenario.user import Action, ClusterUser


class SetTakeoverMap(Action, frozen=True, kw_only=True, tag="setTakeoverMap"):
    """Which domains take over which, from then on; none: everything is given back."""

    takeover: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    async def carry_out(self, user: ClusterUser) -> None:
        text = json.dumps({"version": 2, "topology-takeover": self.takeover})
        await user.put_config_map(TAKEOVER_MAP, {MAP_ENTRY: text})
