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


DELETED_SNAPSHOT_THAT_SAYS_NO_MORE = """
lasting: 2m
cluster:
  zones: [a]
  nodesPerRack: 1
  drivers:
  - name: zonal.example
    pools: [{per: zone, size: 3Gi}]
  classes:
  - {name: zonal, driver: zonal.example}
  copies: {schedulers: 1, controllers: 1, provisioners: 1}
actions:
- {at: 0s, do: createPods, name: web, pods: 1, size: 2Gi}
- {at: 20s, do: takeSnapshot, name: backup, claim: web-0, className: zonal}
- {at: 40s, do: deleteSnapshot, name: backup}
faults:
- {at: 19s, do: pause, what: driver zonal.example, lasting: 40s}
"""


def test_what_a_driver_has_answered_since_a_snapshot_was_deleted_counts() -> None:
    """The snapshot says until it goes that its driver did not answer; its content says more."""
    verdict = run_scenario(parse_scenario(DELETED_SNAPSHOT_THAT_SAYS_NO_MORE))
    (stays,) = verdict.violations
    assert stays.message == "snapshot default/backup is being deleted and stays"
    assert stays.is_known


WAITING_FOR_SNAPSHOT = """
lasting: 1m
settling: 3m
cluster:
  zones: [a]
  nodesPerRack: 1
  node: {maxVolumes: 1}
  drivers:
  - name: zonal.example
    pools: [{per: zone, size: 20Gi}]
  classes:
  - {name: zonal, driver: zonal.example}
  copies: {schedulers: 1, controllers: 1, provisioners: 1}
actions:
- {at: 0s, do: restoreSnapshot, name: copy, snapshot: never-taken, className: zonal}
- {at: 20s, do: createPods, name: web, pods: 1}
"""


def test_a_pod_that_waits_for_a_snapshot_keeps_its_place_on_its_node() -> None:
    assert run_scenario(parse_scenario(WAITING_FOR_SNAPSHOT)).violations == ()


CLONE_OF_A_CLAIM_THAT_ASKS_FOR_MORE = """
lasting: 90s
settling: 2m
cluster:
  zones: [a]
  nodesPerRack: 1
  drivers:
  - name: zonal.example
    pools: [{per: zone, size: 5Gi}]
  classes:
  - {name: zonal, driver: zonal.example}
  copies: {schedulers: 1, controllers: 1, provisioners: 1}
actions:
- {at: 0s, do: createPods, name: web, pods: 1, size: 1Gi}
- {at: 20s, do: growClaim, claim: web-0, size: 10Gi}
- {at: 40s, do: cloneClaim, name: copy, claim: web-0, size: 2Gi}
"""


def test_a_clone_of_a_claim_that_asks_for_more_than_the_clone_need_not_come_about() -> None:
    scenario = parse_scenario(CLONE_OF_A_CLAIM_THAT_ASKS_FOR_MORE)
    assert run_scenario(scenario).violations == ()
