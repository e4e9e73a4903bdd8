from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.inventory import Inventory
from plimsoll.runtime.metrics import Metrics
from tests.processes.driver.drivers import a_driver

MIB = 2**20


def shown(driver: Driver | None) -> dict[str, float]:
    metrics = Metrics()
    metrics.registry.register(Inventory(lambda: driver))
    lines = metrics.exposition().decode().splitlines()
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
    }


async def test_volumes_and_capacity_are_told() -> None:
    async with a_driver() as running:
        await running.create(mib=5)
        await running.free_mib()
        found = shown(running.driver)
        assert found['plimsoll_driver_volumes{phase="Ready"}'] == 1
        assert found['plimsoll_driver_volumes{phase="Making"}'] == 0
        assert found["plimsoll_driver_volume_bytes"] == 5 * MIB
        assert (
            found["plimsoll_driver_capacity_free_bytes"]
            == found["plimsoll_driver_capacity_bytes"] - 5 * MIB
        )


def test_before_the_driver_is_there_it_has_nothing() -> None:
    assert set(shown(None).values()) == {0}
