"""Writes that only wait for the disk keep no other request of their level from being worked on."""

import asyncio

from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.runtime.clock import settle
from tests.apiserver.access.people import a_person, allow
from tests.apiserver.api import MAPS, a_map, serving
from tests.apiserver.stores import SlowStore

TENANT = "tenant"
WRITES = 40
WRITE_MAPS = {"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"]}


async def test_more_writes_of_a_user_than_there_are_seats_wait_for_the_disk_together() -> None:
    store = SlowStore(MemoryStore())
    async with serving(store) as api:
        await allow(api, TENANT, WRITE_MAPS)
        tenant, seats = a_person(api, TENANT), api.server.seats["global-default"]
        before, names = seats.dispatched, [f"map-{number}" for number in range(WRITES)]
        store.hold()
        asked = [asyncio.ensure_future(tenant.ask("POST", MAPS, a_map(name))) for name in names]
        await store.arrival()
        await settle()
        decided, working = seats.dispatched - before, seats.executing
        store.release()
        assert {(await each).status for each in asked} == {201}
        assert (decided, working) == (WRITES, 0)
