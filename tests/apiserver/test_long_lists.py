"""Lists in which the server looks for equal elements: four times as many take four times as long.

A server that compares each with all others works for minutes on what one request can hold, and
answers no other large request meanwhile. To add a list, add a line to REQUESTS.
"""

import gc
import time
from collections.abc import Callable
from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.http.answers import WARNINGS_LENGTH
from tests.apiserver.api import Api

FEW, MANY = 4000, 16_000
GROWTH = 10
"""Four is as it should be, 16 when each is compared with all others."""
AGAIN = 3

PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
SERVICES = "/api/v1/namespaces/default/services"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"
PORT = {"containerPort": 80}


def a_pod(container: Document | None = None, **spec: Any) -> Document:
    containers = [{"name": "c", "image": "i"} | (container or {})]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def a_volume(paths: list[str]) -> Document:
    items = [{"key": "k", "path": path} for path in paths]
    return a_pod(volumes=[{"name": "v", "configMap": {"name": "c", "items": items}}])


def ports(number: int, **values: Callable[[int], Any]) -> Document:
    """Under a number of the container each, or else every two of them clash."""
    return a_pod(
        {
            "ports": [
                PORT | {name: value(place) for name, value in values.items()}
                for place in range(number)
            ]
        }
    )


def a_hook(versions: list[str]) -> Document:
    hook = {
        "name": "a.b.c",
        "sideEffects": "None",
        "clientConfig": {"url": "https://127.0.0.1/"},
        "admissionReviewVersions": ["v1", *versions],
    }
    return {"metadata": {"name": "h"}, "webhooks": [hook]}


def texts(number: int) -> list[str]:
    return [f"v{place}" for place in range(number)]


REQUESTS: dict[str, tuple[str, Callable[[int], Document]]] = {
    "equal-ports": (PODS, ports),
    "ports-under-one-number": (PODS, lambda number: ports(number, hostPort=lambda n: n + 1)),
    "ports-at-addresses": (
        PODS,
        lambda number: ports(
            number, hostPort=lambda _: 80, hostIP=lambda n: f"10.0.{n // 250}.{n % 250}"
        ),
    ),
    "variables-of-one-name": (
        PODS,
        lambda number: a_pod({"env": [{"name": name} for name in [*texts(number), "v0"]]}),
    ),
    "claims-of-a-container": (
        PODS,
        lambda number: a_pod(
            {"resources": {"claims": [{"name": name} for name in texts(number)]}},
            resourceClaims=[{"name": name, "resourceClaimName": "r"} for name in texts(number)],
        ),
    ),
    "files": (PODS, lambda number: a_volume(texts(number))),
    "equal-files": (PODS, lambda number: a_volume(["a"] * number)),
    "spread-constraints": (
        PODS,
        lambda number: a_pod(
            topologySpreadConstraints=[
                {
                    "maxSkew": 1,
                    "topologyKey": key,
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {},
                }
                for key in texts(number)
            ]
        ),
    ),
    "topologies": (
        CLASSES,
        lambda number: {
            "metadata": {"name": "c"},
            "provisioner": "d",
            "allowedTopologies": [
                {"matchLabelExpressions": [{"key": "k", "values": [value]}]}
                for value in texts(number)
            ],
        },
    ),
    "families": (
        SERVICES,
        lambda number: {
            "metadata": {"name": "s"},
            "spec": {"ports": [{"port": 80}], "ipFamilies": texts(number)},
        },
    ),
    "versions-of-reviews": (HOOKS, lambda number: a_hook(texts(number))),
    "tolerations-of-a-runtime-class": (
        RUNTIMES,
        lambda number: {
            "metadata": {"name": "r"},
            "handler": "h",
            "scheduling": {
                "tolerations": [{"key": key, "operator": "Exists"} for key in texts(number)]
            },
        },
    ),
}


async def seconds_for(api: Api, path: str, body: Document) -> float:
    gc.disable()  # how long it looks for garbage depends on what other tests have left
    began = time.process_time()
    try:
        reply = await api.ask("POST", path, body, dryRun="All")
    finally:
        gc.enable()
    assert reply.status in (201, 422), reply.document
    return time.process_time() - began


@pytest.mark.parametrize("name", REQUESTS)
async def test_the_work_grows_no_faster_than(name: str, api: Api) -> None:
    path, body = REQUESTS[name]
    await seconds_for(api, path, body(FEW))
    growth = []
    for _ in range(AGAIN):
        few = await seconds_for(api, path, body(FEW))
        growth.append(await seconds_for(api, path, body(MANY)) / few)
        if growth[-1] < GROWTH:
            return
    pytest.fail(f"four times as many took {min(growth):.0f} times as long")


async def test_warnings_are_told_as_far_as_there_is_room(api: Api) -> None:
    reply = await api.ask("POST", PODS, ports(FEW), dryRun="All")

    assert reply.status == 201
    told = reply.warnings[0]
    assert "ports[1]: duplicate port definition with spec.containers[0].ports[0]" in told
    assert len(told) < 2 * WARNINGS_LENGTH
