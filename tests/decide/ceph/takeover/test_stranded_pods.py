from dataclasses import replace
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace as changed

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.stranded_pods import (
    StrandedPod,
    decide_stranded_pod,
    find_stranded_pods,
)
from plimsoll.decide.ceph.takeover.takeover_map import TakeoverMap
from plimsoll.decide.ceph.takeover.view import TakeoverView
from plimsoll.decide.plan import Emit, Patch
from tests.builders import a_claim, a_node, a_pod, a_volume

DRIVER = "rbd.csi.ceph.com"
DOMAINS = DomainLabels(driver=DRIVER, labels=("x/zone",))
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def serves(domain: str) -> str:
    return f"topology.{DRIVER}/serves.{domain}"


def node(name: str, zone: str, *served: str) -> Node:
    return a_node(name, labels={"x/zone": zone} | {serves(each): "true" for each in served})


def volume_in(domain: str, name: str = "volume") -> PersistentVolume:
    return a_volume(name, claim=a_claim("data"), reachable_from={serves(domain): "true"})


def bound_to(volume: str) -> PersistentVolumeClaim:
    claim = a_claim("data")
    return changed(claim, spec=changed(claim.spec, volume_name=volume))


def a_pod_on(node: str, phase: str = "Pending") -> Pod:
    pod = a_pod("db-0", claims=["data"], node=node)
    return changed(pod, status=changed(pod.status, phase=phase))


PENDING = a_pod_on("a1")
BACK = TakeoverView(
    domains=DOMAINS,
    nodes=(node("a1", "a", "a"), node("b1", "b", "b")),
    volumes=(volume_in("b"),),
    claims=(bound_to("volume"),),
    pods=(PENDING,),
)
"""Domain b was given back, and then a pod that needs it came to a node in a."""
TAKING_B = TakeoverMap(targets_by_source={"b": ("a",)})


def test_a_pod_whose_node_has_given_the_domain_back_is_stranded() -> None:
    assert find_stranded_pods(BACK) == (StrandedPod(pod=PENDING, volume="volume"),)


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(replace(BACK, pods=(a_pod_on("b1"),)), id="its-node-is-in-the-domain"),
        pytest.param(replace(BACK, pods=(a_pod_on("a1", "Running"),)), id="it-runs"),
        pytest.param(replace(BACK, pods=(a_pod_on("gone"),)), id="its-node-is-gone"),
        pytest.param(replace(BACK, pods=(a_pod_on(""),)), id="it-has-no-node"),
        pytest.param(
            replace(BACK, nodes=(node("a1", "a", "a"), a_node("n1")), pods=(a_pod_on("n1"),)),
            id="its-node-is-nowhere-yet",
        ),
        pytest.param(replace(BACK, fenced=[("b",)]), id="the-label-comes-back-for-it"),
        pytest.param(
            replace(BACK, fenced=[("b",)], takeover=TAKING_B), id="its-node-takes-the-domain-over"
        ),
        pytest.param(replace(BACK, fenced=[("a",)]), id="its-node-is-fenced"),
        pytest.param(replace(BACK, closed=[("a",)]), id="its-node-is-about-to-be-fenced"),
        pytest.param(replace(BACK, closed=None), id="the-driver-does-not-say-what-is-fenced"),
        pytest.param(replace(BACK, map_problem="no JSON"), id="the-map-is-not-understood"),
        pytest.param(replace(BACK, claims=(a_claim("data"),)), id="its-claim-has-no-volume"),
        pytest.param(
            replace(
                BACK, volumes=(volume_in("b"), volume_in("a", "new")), claims=(bound_to("new"),)
            ),
            id="the-volume-is-of-a-claim-that-had-its-name",
        ),
    ],
)
def test_other_pods_are_left_alone(view: TakeoverView) -> None:
    assert find_stranded_pods(view) == ()


def test_a_stranded_pod_fails_on_the_version_that_was_seen_and_is_told_why() -> None:
    plan = decide_stranded_pod(StrandedPod(pod=PENDING, volume="volume"), NOW)

    patch, event = plan.writes
    assert isinstance(patch, Patch)
    assert isinstance(event, Emit)
    status = patch.patch["status"]
    assert (patch.version, patch.uid) == (PENDING.metadata.resource_version, PENDING.uid)
    assert (status["phase"], status["reason"]) == ("Failed", "DomainNotServed")
    (told,) = status["conditions"]
    assert (told["type"], told["status"]) == ("DisruptionTarget", "True")
    assert (
        event.message
        == status["message"]
        == (
            "Node a1 does not serve the domain of volume volume: it was given back before this pod "
            "came."
        )
    )
