"""What the audit log says of requests, and what it never says."""

import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.audit.log_file import AuditFileLimits, AuditLog, RotatedFile
from plimsoll.apiserver.audit.policy import parse_policy
from plimsoll.apiserver.flags import ApiServerFlags
from plimsoll.apiserver.main import ApiServerSettings, AuditSettings, serving as serving_sockets
from tests.apiserver.api import MAPS
from tests.apiserver.hooks import CONFIGURATIONS, Hook, a_configuration, adding
from tests.apiserver.sockets import Socket

SECRETS = "/api/v1/namespaces/default/secrets"
HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
EVERYTHING = HEAD + "rules: [{level: RequestResponse}]\n"


@asynccontextmanager
async def audited(
    directory: Path, policy: str = EVERYTHING, path: Path | None = None
) -> AsyncIterator[Socket]:
    audit = AuditSettings(policy=parse_policy(policy), path=path or directory / "audit.log")
    settings = ApiServerSettings(data_dir=directory / "data", audit=audit)
    async with serving_sockets(settings) as up:
        yield Socket(up)


async def ask(server: Socket, method: str, path: str, body: object = None) -> int:
    async with server.connect() as line:
        await line.send(server.request(method, path, body))
        return await line.status()


def entries(directory: Path, **wanted: str) -> list[Document]:
    lines = (directory / "audit.log").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    return [one for one in found if all(one.get(key) == value for key, value in wanted.items())]


async def test_a_request_is_told_with_its_user_its_object_and_its_outcome(tmp_path: Path) -> None:
    async with audited(tmp_path) as server:
        made = {"metadata": {"name": "a"}, "data": {"k": "v"}}
        assert await ask(server, "POST", f"{MAPS}?fieldManager=me", made) == 201

    received, complete = entries(tmp_path, verb="create")
    assert (received["stage"], complete["stage"]) == ("RequestReceived", "ResponseComplete")
    assert received["auditID"] == complete["auditID"]
    assert "requestObject" not in received
    assert complete["user"]["username"] == "admin"
    assert complete["requestURI"] == f"{MAPS}?fieldManager=me"
    reference = {"resource": "configmaps", "namespace": "default", "apiVersion": "v1"}
    assert complete["objectRef"] == reference
    assert complete["requestObject"] == made
    assert complete["responseObject"]["metadata"]["name"] == "a"
    assert complete["responseStatus"] == {"metadata": {}, "code": 201}
    assert complete["annotations"] == {"authorization.k8s.io/decision": "allow"}
    assert stat.S_IMODE((tmp_path / "audit.log").stat().st_mode) == 0o600


async def test_bodies_are_left_out_at_metadata(tmp_path: Path) -> None:
    policy = HEAD + "omitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"
    async with audited(tmp_path, policy) as server:
        await ask(server, "POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "told-nowhere"}})

    [entry] = entries(tmp_path, verb="create")
    assert "requestObject" not in entry
    assert "told-nowhere" not in json.dumps(entry)


async def test_secrets_are_told_at_no_level(tmp_path: Path) -> None:
    secret = {"metadata": {"name": "a"}, "stringData": {"password": "hunter2"}}
    async with audited(tmp_path) as server:
        assert await ask(server, "POST", SECRETS, secret) == 201
        assert await ask(server, "GET", f"{SECRETS}/a") == 200
        assert await ask(server, "GET", SECRETS) == 200

    text = (tmp_path / "audit.log").read_text()
    assert len(entries(tmp_path, stage="ResponseComplete")) >= 3
    assert "hunter2" not in text
    assert "aHVudGVyMg" not in text


async def test_refused_clients_are_told_of(tmp_path: Path) -> None:
    async with audited(tmp_path) as server, server.connect() as line:
        for credentials in (b"", b"Authorization: Bearer wrong-token\r\n"):
            await line.send(b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n" + credentials + b"\r\n")
            assert await line.status() in (401, 403)

    complete = entries(tmp_path, stage="ResponseComplete", requestURI="/api/v1/pods")
    assert [one["responseStatus"]["code"] for one in complete] == [403, 401]
    assert complete[0]["annotations"] == {"authorization.k8s.io/decision": "forbid"}
    assert "annotations" not in complete[1]
    assert "wrong-token" not in (tmp_path / "audit.log").read_text()


async def test_what_admission_forbids_was_allowed_by_the_roles(tmp_path: Path) -> None:
    async with audited(tmp_path) as server:
        body = {"metadata": {"name": "a"}}
        limits = "/api/v1/namespaces/kube-system/limitranges"
        limit = {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}
        ranges = {"metadata": {"name": "small"}, "spec": {"limits": [limit]}}
        assert await ask(server, "POST", limits, ranges) == 201
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
        claims = "/api/v1/namespaces/kube-system/persistentvolumeclaims"
        assert await ask(server, "POST", claims, body | {"spec": spec}) == 403

    [complete] = entries(tmp_path, stage="ResponseComplete", requestURI=claims)
    assert complete["annotations"] == {"authorization.k8s.io/decision": "allow"}


async def test_a_watch_is_told_when_it_begins_and_when_it_ends(tmp_path: Path) -> None:
    async with audited(tmp_path) as server, server.connect() as line:
        await line.send(server.request("GET", f"{MAPS}?watch=true&timeoutSeconds=1"))
        await line.reader.readuntil(b"0\r\n\r\n")

    stages = [entry["stage"] for entry in entries(tmp_path, verb="watch")]
    assert stages == ["RequestReceived", "ResponseStarted", "ResponseComplete"]


async def test_a_full_disk_stops_nothing(tmp_path: Path) -> None:
    async with audited(tmp_path, path=Path("/dev/full")) as server:
        assert await ask(server, "POST", MAPS, {"metadata": {"name": "a"}}) == 201
        assert await ask(server, "GET", f"{MAPS}/a") == 200
        audit = server.up.server.audit
    assert audit is not None
    [written, lost] = audit.collect()
    assert written.samples[0].value == 0
    assert lost.samples[0].value >= 4


def test_old_files_go(tmp_path: Path) -> None:
    moments = iter(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=n) for n in range(100))
    limits = AuditFileLimits(max_bytes=100, max_backups=2)
    file = RotatedFile(tmp_path / "audit.log", limits, lambda: next(moments))
    for number in range(10):
        file.write(b"%d" % number * 60 + b"\n")
    file.close()

    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 3
    assert names[2] == "audit.log"
    assert (tmp_path / "audit.log").read_bytes() == b"9" * 60 + b"\n"


def test_a_log_without_entries_makes_no_file(tmp_path: Path) -> None:
    log = AuditLog(
        RotatedFile(tmp_path / "audit.log", AuditFileLimits(), lambda: datetime.now(UTC))
    )
    log.close()
    assert not (tmp_path / "audit.log").exists()


@pytest.mark.parametrize(
    "flags",
    [
        {"audit_log_path": "a.log"},
        {"audit_policy_file": "policy.yaml"},
        {"audit_log_path": "a.log", "audit_policy_file": "/nowhere/policy.yaml"},
    ],
)
def test_a_log_without_a_policy_is_refused(flags: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="audit-policy-file"):
        ApiServerFlags(**flags).settings()  # type: ignore[arg-type]  # texts, both of them


async def test_a_log_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "audit.log").touch(mode=0o644)
    async with audited(tmp_path, HEAD + "rules: [{level: Metadata}]\n") as server:
        await ask(server, "GET", MAPS)

    assert stat.S_IMODE((tmp_path / "audit.log").stat().st_mode) == 0o600


async def test_what_webhooks_changed_and_which_were_not_reached_is_told(tmp_path: Path) -> None:
    async with (
        Hook(tmp_path, lambda _: adding("seen", "yes")).running() as hook,
        audited(tmp_path) as server,
    ):
        unreached = {"clientConfig": {"url": "https://127.0.0.1:1/"}, "failurePolicy": "Ignore"}
        changing = a_configuration("a", hook)
        changing["webhooks"] += a_configuration("b", hook, **unreached)["webhooks"]
        lost = a_configuration("c", hook, **unreached)
        for kind, configuration in (("mutating", changing), ("validating", lost)):
            assert await ask(server, "POST", CONFIGURATIONS.format(kind), configuration) == 201
        made = {"metadata": {"name": "m"}, "data": {"k": "v"}}
        assert await ask(server, "POST", MAPS, made) == 201

    (told,) = [
        entry["annotations"]
        for entry in entries(tmp_path, verb="create", stage="ResponseComplete")
        if entry["objectRef"]["resource"] == "configmaps"
    ]
    by_place = {key.replace(".webhook.admission.k8s.io/", " "): told[key] for key in told}
    changed = {"configuration": "a", "webhook": "a.example.com", "mutated": True}
    assert json.loads(by_place.pop("mutation round_0_index_0")) == changed
    unchanged = {"configuration": "a", "webhook": "b.example.com", "mutated": False}
    assert json.loads(by_place.pop("mutation round_0_index_1")) == unchanged
    assert by_place == {
        "authorization.k8s.io/decision": "allow",
        "failed-open.mutating round_0_index_1": "b.example.com",
        "failed-open.validating round_0_index_0": "c.example.com",
    }
