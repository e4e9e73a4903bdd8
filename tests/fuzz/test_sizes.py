"""No size that a client writes keeps a process busy, wherever the size is read.

The API server refuses it or stores it. What is stored, by this server or another, every other
process can read: each test takes the sizes that parse to one place where a process reads them.
A size that is worked out digit by digit would end the test by its time limit.
"""

import asyncio

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.quantity import MAX_INT64, parse_quantity
from plimsoll.api.registry import Document
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.api.volumes import ClaimStatus, PersistentVolume, PersistentVolumeClaim, Resources
from plimsoll.decide.capacity.findings import findings
from plimsoll.decide.claims.match import Search, find_match, mismatches
from plimsoll.decide.node.admission import find_rejection
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel, NoNode, Placement
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.processes.driver.configuration import parse_disk
from plimsoll.runtime.config import ConfigError
from tests.apiserver.api import serving
from tests.builders import (
    ZONE,
    a_capacity,
    a_claim,
    a_class,
    a_driver,
    a_node,
    a_pod,
    a_volume,
)
from tests.decide.capacity.scenes import seen
from tests.fuzz.sizes import ACCEPTED_MONSTERS, SIZES

few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def parses(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


STORED = st.one_of(st.sampled_from(ACCEPTED_MONSTERS), SIZES.filter(parses))


def claiming(size: str) -> PersistentVolumeClaim:
    claim = a_claim()
    wanted = Resources(requests={"storage": size})
    return msgspec.structs.replace(
        claim,
        spec=msgspec.structs.replace(claim.spec, resources=wanted),
        status=ClaimStatus(capacity={"storage": size}),
    )


def holding(size: str) -> PersistentVolume:
    volume = a_volume(reachable_from={ZONE: "a"})
    spec = msgspec.structs.replace(volume.spec, capacity={"storage": size})
    return msgspec.structs.replace(volume, spec=spec)


def publishing(size: str, largest: str) -> CSIStorageCapacity:
    capacity = a_capacity(segment={ZONE: "a"}, gib=1)
    return msgspec.structs.replace(capacity, capacity=size, maximum_volume_size=largest)


def a_machine(size: str) -> Node:
    node = a_node("a", labels={ZONE: "a"})
    room = {**node.status.allocatable, "memory": size, "example.com/device": size}
    status = msgspec.structs.replace(node.status, allocatable=room)
    return msgspec.structs.replace(node, status=status)


# The API server


def bodies(size: str) -> dict[str, Document]:
    """One object for each place in which the server itself computes with a size."""
    amounts = {"requests": {"memory": size}, "limits": {"memory": size}}
    container = {"name": "main", "image": "web", "resources": amounts}
    limit = {"type": "Container", "maxLimitRequestRatio": {"memory": size}, "max": {"memory": size}}
    limit["min"] = {"memory": "1e18"}
    return {
        "namespaces/default/persistentvolumeclaims": {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}, "limits": {"storage": size}},
            }
        },
        "persistentvolumes": {
            "spec": {
                "capacity": {"storage": size},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/srv"},
            }
        },
        "namespaces/default/pods": {
            "spec": {
                "containers": [container, {**container, "name": "second"}],
                "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": size}}],
            }
        },
        "namespaces/default/resourcequotas": {
            "spec": {"hard": {"requests.storage": size, "limits.memory": size}}
        },
        "namespaces/default/limitranges": {"spec": {"limits": [limit]}},
        "nodes": {"status": {"capacity": {"memory": size}, "allocatable": {"memory": size}}},
    }


async def answers(size: str) -> list[int]:
    codes = []
    async with serving() as api:
        await api.ask(
            "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}}
        )
        for path, body in bodies(size).items():
            for name in ("first", "second"):
                named = {**body, "metadata": {"name": name}}
                codes.append((await api.ask("POST", f"/api/v1/{path}", named)).status)
    return codes


@few
@given(SIZES)
def test_the_server_stores_or_refuses_any_size(size: str) -> None:
    assert {code // 100 for code in asyncio.run(answers(size))} <= {2, 4}


@pytest.mark.parametrize("size", ["1e999999999", "1e2147483647", "9" * 5000])
def test_the_server_refuses_a_claim_whose_size_is_too_long_to_write_out(size: str) -> None:
    assert asyncio.run(answers(size))[:2] == [400, 400]


# Those who read what is stored


@few
@given(STORED, STORED, STORED, st.sampled_from(Policy))
@example(wanted="1000000000000000000E", there="1", free="1", policy=Policy.COMPATIBLE)
@example(wanted="1000000000000000000E", there="9E", free="9E", policy=Policy.DEFAULT)
def test_the_scheduler_decides_whatever_the_sizes(
    wanted: str, there: str, free: str, policy: Policy
) -> None:
    objects: list[ApiObject] = [
        a_machine(there),
        a_node("b", labels={ZONE: "b"}),
        a_class(),
        a_driver(),
        claiming(wanted),
        holding(there),
        publishing(free, there),
    ]
    kernel = Kernel(Columns.of(objects), KernelSettings(policy))
    pod = a_pod(claims=["data"], requests={"memory": wanted})

    assert isinstance(kernel.decide(pod), Placement | NoNode)
    assert kernel.explain_node(pod, "a").judgements


@given(STORED, STORED)
def test_the_controller_matches_whatever_the_sizes(wanted: str, there: str) -> None:
    claim, volume = claiming(wanted), holding(there)
    search = Search.of(claim)

    is_large_enough = not parse_quantity(there) < parse_quantity(wanted)
    assert (not mismatches(search, volume)) == is_large_enough
    assert (find_match(search, [volume]) is not None) == is_large_enough


@given(STORED)
def test_drivers_are_asked_for_a_number_of_64_bits(size: str) -> None:
    claim, volume = claiming(size), holding(size)

    assert abs(claim.spec.requested_bytes) <= MAX_INT64
    assert abs(claim.status.capacity_bytes) <= MAX_INT64
    assert abs(volume.spec.capacity_bytes) <= MAX_INT64


@given(STORED, STORED)
def test_a_node_admits_or_rejects_a_pod_whatever_the_sizes(wanted: str, there: str) -> None:
    pod = a_pod(requests={"memory": wanted, "example.com/device": wanted})
    rejection = find_rejection(pod, a_machine(there), [pod])

    assert rejection is None or rejection.message


@given(STORED, STORED)
def test_what_is_wrong_with_published_capacity_is_found_whatever_the_sizes(
    free: str, largest: str
) -> None:
    assert isinstance(findings(seen(publishing(free, largest))), list)


@given(SIZES)
def test_the_size_of_a_disk_is_refused_or_of_64_bits(size: str) -> None:
    try:
        disk = parse_disk(f"/srv/a={size}")
    except ConfigError:
        return
    assert disk.size_bytes is None or 0 < disk.size_bytes <= MAX_INT64
