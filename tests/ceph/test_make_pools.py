"""`plimsoll ceph make-pools` as a program, on a real cluster of three zones."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from plimsoll.decide.ceph.labelled_pools import labelled_pools
from plimsoll.wire.ceph.connection import CephAccess, CephConnection
from plimsoll.wire.ceph.crush_map import CrushMapText, read_crush_map, write_crush_map
from plimsoll.wire.ceph.errors import CephError, CephFailure
from tests.ceph.cluster_settings import DRIVER_USER, ZONES
from tests.ceph.loopback_cluster import LoopbackCluster, osd
from tests.ceph.pool_admin import JOURNAL, POOLS, PoolAdmin
from tests.ceph.rbd_drivers import rbd_driver
from tests.processes.driver.drivers import ZONE


@pytest.fixture
def admin(cluster: LoopbackCluster, tmp_path: Path) -> Iterator[PoolAdmin]:
    admin = PoolAdmin(cluster, tmp_path)
    yield admin
    admin.clear()


def test_primaries_are_in_the_zone_and_other_copies_outside(admin: PoolAdmin) -> None:
    done = admin.made()
    for number, zone in enumerate(ZONES):
        for primary, *acting in admin.placed(POOLS[zone]):
            assert primary == number
            assert sorted(acting) == [0, 1, 2]
    assert all(sorted(acting) == [0, 1, 2] for _, *acting in admin.placed(JOURNAL))
    sizes = {(admin.pools[name]["size"], admin.pools[name]["min_size"]) for name in POOLS.values()}
    assert sizes == {(3, 2)}
    class_ = yaml.safe_load(done.stdout)
    assert class_["parameters"]["pool"] == JOURNAL
    assert json.loads(class_["parameters"]["topologyConstrainedPools"]) == [
        {"poolName": POOLS[zone], "domainSegments": [{"domainLabel": "zone", "value": zone}]}
        for zone in ZONES
    ]


def test_writes_go_on_within_seconds_when_the_zone_dies(admin: PoolAdmin) -> None:
    admin.made()
    admin.write(POOLS["zone-b"])
    admin.cluster.end(osd("zone-b"))
    try:
        seconds = admin.write(POOLS["zone-b"])
        assert {primary for primary, *_ in admin.placed(POOLS["zone-b"])} <= {0, 2}
    finally:
        admin.cluster.restart_osd("zone-b")
    assert seconds < 10
    admin.write(POOLS["zone-b"])


def test_a_second_time_there_is_nothing_to_do(admin: PoolAdmin) -> None:
    first = admin.made()
    before = admin.state
    again = admin.made()
    assert again.stderr == "everything is there already\n"
    assert again.stdout == first.stdout
    assert admin.state == before


def test_what_an_interrupted_run_left_is_finished(admin: PoolAdmin) -> None:
    admin.made()
    pool = POOLS["zone-a"]
    key = "plimsoll.domain.zone"
    admin.cluster.command("osd pool application rm", pool=pool, app="rbd", key=key)
    admin.cluster.remove_pool(POOLS["zone-c"])
    done = admin.made()
    assert f"label pool {pool}: {key}=zone-a" in done.stderr
    assert f"create pool {POOLS['zone-c']}" in done.stderr
    assert "CRUSH" not in done.stderr


def test_pools_carry_their_domains_as_nodes_call_them(admin: PoolAdmin) -> None:
    admin.made("--domain=zone-a=a", "--domain=zone-b=b", "--group=gold", "--label=room")
    assert POOLS["zone-c"] not in admin.pools
    metadata = {name: pool["application_metadata"] for name, pool in admin.pools.items()}
    found = labelled_pools(metadata, application="rbd", group="gold")
    assert [(pool.name, pool.segments) for pool in found] == [
        (POOLS["zone-a"], (("room", "a"),)),
        (POOLS["zone-b"], (("room", "b"),)),
    ]


async def test_a_driver_makes_volumes_by_the_class_that_is_printed_also_without_the_zone(
    admin: PoolAdmin, tmp_path: Path
) -> None:
    parameters = yaml.safe_load(admin.made("--group=gold").stdout)["parameters"]
    assert parameters == {"pool": JOURNAL, "poolGroup": "gold"}
    async with rbd_driver(admin.cluster, tmp_path / "driver", pool=JOURNAL) as running:
        assert (await running.capacity("zone-a", parameters)).available_capacity
        for zone in ZONES:
            volume = await running.create(zone, mib=8, zones=[zone], parameters=parameters)
            assert [dict(each.segments) for each in volume.accessible_topology] == [{ZONE: zone}]
        with admin.cluster.dead_zone("zone-b"):
            await running.create("late", mib=8, zones=["zone-b"], parameters=parameters)
        for volume_id in await running.volume_ids():
            await running.delete(volume_id)


def test_a_dry_run_changes_nothing(admin: PoolAdmin) -> None:
    before = admin.state
    done = admin.made("--dry-run")
    assert "would add CRUSH rules plimsoll-near-zone-a" in done.stderr
    assert "would create pool near-zone-b" in done.stderr
    assert yaml.safe_load(done.stdout)["kind"] == "StorageClass"
    assert admin.state == before


def test_one_copy_must_be_asked_for_and_is_warned_of(admin: PoolAdmin) -> None:
    assert "cannot be taken over" in admin.refusal("--size=1")
    done = admin.made("--size=1", "--allow-single-copy")
    assert "cannot be taken over" in done.stderr
    for number, zone in enumerate(ZONES):
        assert {tuple(osds) for osds in admin.placed(POOLS[zone])} == {(number, number)}


def test_pools_of_others_are_left_alone(admin: PoolAdmin) -> None:
    before = admin.state
    said = admin.refusal("--prefix=rbd-")
    assert "pool rbd-zone-a exists, with rule only-zone-a, and was not made by this" in said
    assert admin.state == before
    assert not any(name.startswith("plimsoll-") for name in admin.rules)


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--domain-type=aisle", "CRUSH has no bucket type aisle; it has osd, host"),
        ("--root=nowhere", "CRUSH has no bucket nowhere"),
        ("--domain=zone-x", "there is no zone zone-x below default; known: zone-a"),
        ("--domain-type=rack", "there is no rack below default"),
        ("--size=5", "needs 2 of type host with OSDs in zone-b, which has 1"),
        ("--min-size=3", "stops with its domain"),
        ("--prefix=a b", "is no name for a pool"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(admin: PoolAdmin, flag: str, said: str) -> None:
    assert said in admin.refusal(flag)


def test_a_user_without_the_rights_is_told_so(admin: PoolAdmin) -> None:
    said = admin.refusal(user=DRIVER_USER)
    assert f"asked as client.{DRIVER_USER}, is denied" in said
    assert admin.cluster.key_of(DRIVER_USER) not in said


async def test_no_edit_of_another_administrator_is_lost(admin: PoolAdmin) -> None:
    key = admin.cluster.key_of("admin")
    access = CephAccess(monitors=admin.cluster.monitor, user="admin", key=key)
    connection = CephConnection(access)
    try:
        read = await read_crush_map(connection)
        admin.cluster.make_rule("plimsoll-near-journal", root="default", type="zone")
        with pytest.raises(CephError) as refused:
            await write_crush_map(connection, CrushMapText(read.text, read.version))
        assert refused.value.failure is CephFailure.CHANGED
        assert "plimsoll-near-journal" in admin.rules
    finally:
        await connection.close()
