"""A write under a quota does not take longer because the namespace has many objects."""

import time
from statistics import median

from tests.apiserver.api import MAPS, Api, a_map

QUOTA = {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "100000", "pods": "9"}}}
FEW, MANY, WRITES = 50, 3000, 40
TIMES = 4
"""A count of all objects would take more than twenty times as long."""


async def filled(api: Api, first: int, number: int) -> None:
    for n in range(first, first + number):
        assert (await api.ask("POST", MAPS, a_map(f"m-{n}"))).status == 201


async def cost(api: Api) -> float:
    """The processor time of a write: what most of several take."""
    took = []
    for n in range(WRITES):
        began = time.process_time()
        assert (await api.ask("POST", MAPS, a_map(f"w-{n}"))).status == 201
        assert (await api.ask("DELETE", f"{MAPS}/w-{n}")).status == 200
        took.append(time.process_time() - began)
    return median(took)


async def test_a_write_costs_the_same_beside_few_and_many_objects(api: Api) -> None:
    quotas = "/api/v1/namespaces/default/resourcequotas"
    assert (await api.ask("POST", quotas, QUOTA)).status == 201
    await filled(api, 0, FEW)
    beside_few = await cost(api)
    await filled(api, FEW, MANY)
    assert await cost(api) < TIMES * beside_few
    used = (await api.ask("GET", f"{quotas}/q")).document["status"]["used"]
    assert used == {"configmaps": str(FEW + MANY), "pods": "0"}
