"""The server answers with a warning where a policy is only stored and not enforced."""

from pathlib import Path

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.warnings.not_enforced import KINDS, START
from tests.apiserver.api import Api

PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
]
DIFFERENCES = Path(__file__).parents[4] / "docs" / "reference" / "differences.md"


def a_pod(**spec: object) -> Document:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "a"}, "spec": {"containers": containers} | spec}


async def test_a_policy_that_is_written_is_warned_of(api: Api) -> None:
    reply = await api.ask("POST", CLASSES, {"metadata": {"name": "a"}, "spec": {}})
    assert reply.status == 201
    assert START in reply.warnings[0]
    assert "nothing here allocates devices" in reply.warnings[0]


async def test_a_change_of_its_labels_is_not(api: Api) -> None:
    await api.ask("POST", CLASSES, {"metadata": {"name": "a"}, "spec": {}})
    reply = await api.ask("PATCH", f"{CLASSES}/a", {"metadata": {"labels": {"a": "b"}}})
    assert (reply.status, reply.warnings) == (200, ())


async def test_a_quota_says_which_limits_are_not_kept(api: Api) -> None:
    devices = "gpu.deviceclass.resource.k8s.io/devices"
    hard = {"pods": "1", "requests.cpu": "1", devices: "1"}
    reply = await api.ask("POST", QUOTAS, {"metadata": {"name": "a"}, "spec": {"hard": hard}})
    [warning] = reply.warnings
    assert devices in warning


async def test_what_needs_no_warning_gets_none(api: Api) -> None:
    assert (await api.create("a")).warnings == ()
    assert (await api.ask("POST", PODS, a_pod(topologySpreadConstraints=SPREAD))).warnings == ()


def test_the_page_names_everything_that_is_warned_of() -> None:
    page = DIFFERENCES.read_text()
    kinds = {kind.removesuffix("Binding") for _, kind in KINDS}
    assert [name for name in sorted(kinds) if name not in page] == []
