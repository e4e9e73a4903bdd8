"""A webhook that really runs, over TLS, and the objects that name it."""

import asyncio
import base64
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from plimsoll.api.registry import Document

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICE_NAME = "hook.default.svc"
Decide = Callable[[Document], Document]


class Hook:
    """A webhook that runs: what it was asked, and how it is reached."""

    def __init__(self, directory: Path, decide: Decide) -> None:
        self.asked: list[Document] = []
        self.versions: list[str] = []
        self.times: list[str] = []
        """How long it was told that it has."""
        self.port = 0
        self.decide = decide
        self._certificate = directory / "hook.pem"
        self.ca_bundle = base64.b64encode(_self_signed(self._certificate)).decode()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/admit"

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Hook"]:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._certificate)
        app = web.Application()
        app.router.add_post("/admit", self._answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        self.port = runner.addresses[0][1]
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        review = await request.json()
        self.asked.append(review["request"])
        self.versions.append(review["apiVersion"])
        self.times.append(request.query.get("timeout", ""))
        response = {"uid": review["request"]["uid"], "allowed": True} | self.decide(
            review["request"]
        )
        if response.pop("sleep", None):
            await asyncio.sleep(5)
        kind = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}
        return web.json_response(kind | {"response": response})


def _self_signed(path: Path) -> bytes:
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hook")])
    names: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.DNSName(SERVICE_NAME),
    ]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(pem))
    return made.public_bytes(pem)


def patched(*operations: Document) -> Document:
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"patchType": "JSONPatch", "patch": text}


def adding(key: str, value: str) -> Document:
    return patched({"op": "add", "path": f"/data/{key}", "value": value})


def adding_label(name: str) -> Document:
    return patched({"op": "add", "path": "/metadata/labels", "value": {name: "yes"}})


def a_configuration(named: str, hook: Hook, **more: Any) -> Document:
    webhook = {
        "name": f"{named}.example.com",
        "clientConfig": {"url": hook.url, "caBundle": hook.ca_bundle},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
        "rules": [
            {
                "operations": ["*"],
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
            }
        ],
    }
    return {"metadata": {"name": named}, "webhooks": [webhook | more]}
