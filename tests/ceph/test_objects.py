from collections.abc import AsyncIterator

import pytest

from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.objects import Creating, ObjectWrite, RadosObjects
from tests.ceph.connections import connected
from tests.ceph.loopback_cluster import JOURNAL, LoopbackCluster

NAME = "object"

pytestmark = pytest.mark.both_bindings


@pytest.fixture
async def objects(cluster: LoopbackCluster) -> AsyncIterator[RadosObjects]:
    async with connected(cluster) as connection:
        made = RadosObjects(connection, PoolScope(pool=JOURNAL, namespace="objects"))
        yield made
        for name in await made.names():
            await made.remove(name)


async def refused(objects: RadosObjects, write: ObjectWrite) -> CephFailure:
    with pytest.raises(CephError) as raised:
        await objects.write(NAME, write)
    return raised.value.failure


async def test_keys_are_set_read_and_removed(objects: RadosObjects) -> None:
    values = {"a": "1", "b": "ö", "empty": ""}
    await objects.write(NAME, ObjectWrite(values=values))
    assert await objects.keys(NAME, [*values, "other"]) == values
    await objects.write(NAME, ObjectWrite(removed=["a", "other"]))
    assert await objects.keys_from(NAME, "") == {"b": "ö", "empty": ""}


async def test_an_object_is_created_once(objects: RadosObjects) -> None:
    new = ObjectWrite(creating=Creating.EXCLUSIVE, values={"a": "1"})
    await objects.write(NAME, new)
    assert await refused(objects, new) is CephFailure.EXISTS


async def test_a_write_happens_as_a_whole_or_not_at_all(objects: RadosObjects) -> None:
    await objects.write(NAME, ObjectWrite(values={"a": "1", "b": "1"}))
    stale = ObjectWrite(expected={"a": "1", "b": "2"}, values={"a": "2"}, removed=["b"])
    assert await refused(objects, stale) is CephFailure.CHANGED
    assert await objects.keys(NAME, ["a", "b"]) == {"a": "1", "b": "1"}


async def test_an_empty_expectation_means_that_the_key_is_absent(objects: RadosObjects) -> None:
    first = ObjectWrite(creating=Creating.IDEMPOTENT, expected={"a": ""}, values={"a": "1"})
    await objects.write(NAME, first)
    assert await refused(objects, first) is CephFailure.CHANGED


@pytest.mark.parametrize("write", [ObjectWrite(expected={"a": "1"}), ObjectWrite(removed=["a"])])
async def test_comparing_and_removing_need_the_object(
    objects: RadosObjects, write: ObjectWrite
) -> None:
    assert await refused(objects, write) is CephFailure.NOT_FOUND


async def test_more_keys_than_one_answer_holds_are_read_by_prefix(objects: RadosObjects) -> None:
    every = {f"x{number:04}": str(number) for number in range(2500)}
    await objects.write(NAME, ObjectWrite(values=every | {"y": "other"}))
    assert await objects.keys_from(NAME, "x") == every
    assert await objects.keys_from(NAME, "z") == {}


async def test_what_is_not_there_cannot_be_read_or_removed(objects: RadosObjects) -> None:
    for call in (objects.keys(NAME, ["a"]), objects.keys_from(NAME, "a"), objects.remove(NAME)):
        with pytest.raises(CephError) as raised:
            await call
        assert raised.value.failure is CephFailure.NOT_FOUND
