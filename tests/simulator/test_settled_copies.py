"""What the simulator expects of snapshots, with room for them at their driver and without."""

from plimsoll.simulator.run import RunVerdict, run_scenario
from plimsoll.simulator.scenario.file import parse_scenario

DELETED_SNAPSHOT = """
lasting: 2m
cluster:
  zones: [a]
  nodesPerRack: 1
  drivers:
  - name: zonal.example
    pools: [{per: zone, size: %s}]
  classes:
  - {name: zonal, driver: zonal.example}
  copies: {schedulers: 1, controllers: 1, provisioners: 1}
actions:
- {at: 0s, do: createPods, name: web, pods: 1, size: 2Gi}
- {at: 20s, do: takeSnapshot, name: backup, claim: web-0, className: zonal}
- {at: 60s, do: deleteSnapshot, name: backup}
"""


def played(pool_size: str) -> RunVerdict:
    return run_scenario(parse_scenario(DELETED_SNAPSHOT % pool_size))


def test_a_deleted_snapshot_that_its_driver_has_no_room_for_is_known_to_stay() -> None:
    verdict = played("3Gi")
    (stays,) = verdict.violations
    assert stays.message == "snapshot default/backup is being deleted and stays"
    assert stays.is_known
    assert verdict.unknown == ()


def test_a_deleted_snapshot_that_was_made_goes() -> None:
    assert played("10Gi").violations == ()
