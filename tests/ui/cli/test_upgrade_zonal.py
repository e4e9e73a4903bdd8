"""The command, as a user calls it, against a server of its own."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.simulator.stories.objects import volume
from tests.servers import EmbeddedServer, plimsoll

OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
VOLUMES = "/api/v1/persistentvolumes"
RACK = {
    "required": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "x/rack", "operator": "In", "values": ["1"]}]}
        ]
    }
}

pytestmark = pytest.mark.xdist_group("upgrade-zonal")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def server(running: EmbeddedServer) -> EmbeddedServer:
    code, _ = running.endpoint.request("DELETE", VOLUMES)
    assert code == 200
    _, listed = running.endpoint.request("GET", VOLUMES)
    for item in listed["items"]:
        running.endpoint.request(
            "PUT",
            f"{VOLUMES}/{item['metadata']['name']}",
            {**item, "metadata": item["metadata"] | {"finalizers": []}},
        )
    return running


def create(server: EmbeddedServer, *volumes: dict[str, Any]) -> None:
    for one in volumes:
        code, answer = server.endpoint.request("POST", VOLUMES, one)
        assert code == 201, answer


def upgrade(server: EmbeddedServer, *flags: str) -> tuple[int, str, str]:
    command = [plimsoll(), "upgrade-zonal", "--kubeconfig", str(server.kubeconfig), *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def zone_of(server: EmbeddedServer, name: str) -> list[str]:
    _, found = server.endpoint.request("GET", f"{VOLUMES}/{name}")
    terms = found["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    values: list[str] = terms[0]["matchExpressions"][0]["values"]
    return values


def test_a_dry_run_shows_what_would_change_and_changes_nothing(server: EmbeddedServer) -> None:
    create(server, volume("zonal", labels={OLD_ZONE: "a__b"}), volume("plain"))
    code, table, remarks = upgrade(server, "--dry-run")
    assert code == 0
    header, row = table.strip().splitlines()
    assert header.split() == ["VOLUME", "RESULT", "ADDED", "WHY"]
    assert row.split("   ")[0].strip() == "zonal"
    assert "would upgrade" in row
    assert f"{OLD_ZONE} in (a, b)" in row
    assert remarks.strip() == "1 volumes have no zone or region labels."
    _, found = server.endpoint.request("GET", f"{VOLUMES}/zonal")
    assert "nodeAffinity" not in found["spec"]


def test_it_upgrades_and_the_second_time_finds_nothing_to_do(server: EmbeddedServer) -> None:
    create(server, volume("zonal", labels={OLD_ZONE: "a__b"}))
    code, text, _ = upgrade(server, "-o", "json")
    assert (code, [row["result"] for row in json.loads(text)]) == (0, ["upgraded"])
    assert zone_of(server, "zonal") == ["a", "b"]
    code, text, _ = upgrade(server, "-o", "yaml")
    (row,) = yaml.safe_load(text)
    assert code == 0
    assert (row["result"], row["reason"]) == ("skipped", "AffinityNamesZone")


def test_volumes_that_need_a_person_are_named_and_the_exit_code_says_so(
    server: EmbeddedServer,
) -> None:
    create(
        server,
        volume("fixed", labels={OLD_ZONE: "a"}, affinity=RACK),
        volume("fine", labels={OLD_ZONE: "a"}),
        volume("odd", labels={OLD_ZONE: "a", "topology.kubernetes.io/zone": "b"}),
    )
    code, text, _ = upgrade(server, "-o", "json")
    rows = {row["volume"]: row for row in json.loads(text)}
    assert code == 1
    assert {name: row["result"] for name, row in rows.items()} == {
        "fine": "upgraded",
        "fixed": "refused",
        "odd": "skipped",
    }
    assert "immutable" in rows["fixed"]["why"]
    assert rows["odd"]["why"] == "its older and newer labels name different places"


def test_bad_usage_is_two_and_a_cluster_out_of_reach_is_one(tmp_path: Path) -> None:
    def code(*flags: str) -> int:
        command = [plimsoll(), "upgrade-zonal", *flags]
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode

    nowhere = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [cluster],
        "contexts": [context],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    nowhere.write_text(yaml.safe_dump(config))
    assert code("--no-such-flag") == 2
    assert code("--kubeconfig", str(tmp_path / "missing")) == 2
    assert code("--kubeconfig", str(nowhere)) == 1
