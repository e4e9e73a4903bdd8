"""One call to a driver, with the secret that it needs.

A secret is read for the moment of one call and shown to no other program. Drivers may repeat in
their complaints what they were given: every value of the secret is taken out of them.
"""

import logging
from collections.abc import Callable, Mapping
from typing import TypeVar

from google.protobuf.message import Message

from plimsoll.api.core import Secret
from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import SecretReference
from plimsoll.decide.csi.steps import Failure, NotAsked
from plimsoll.decide.provisioning.calls import CallFailed, Code
from plimsoll.processes.controller.csi.drivers import KnownDriver
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.methods import Method
from plimsoll.wire.csi.redaction import without_secrets
from plimsoll.wire.errors import Failure as KubeFailure, KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient

log = logging.getLogger(__name__)

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

Secrets = Mapping[str, str]
SECRETS = typed(Secret)


class SecretError(Exception):
    """A secret cannot be had; the text names it, and holds nothing of it."""


class DriverCalls:
    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def call(
        self,
        driver: KnownDriver,
        method: Method[Request, Response],
        request: Callable[[Secrets], Request],
        secret: SecretReference | None = None,
    ) -> Response | Failure:
        try:
            secrets = await self._read(secret)
        except SecretError as error:
            return NotAsked(str(error))
        try:
            return await driver.client.call(method, request(secrets))
        except DriverError as error:
            detail = without_secrets(error.detail, secrets)
            facts = {"driver": driver.name, "method": method.name, "error": detail}
            log.warning("call failed", extra=facts)
            return CallFailed(Code[error.code], detail)

    async def _read(self, reference: SecretReference | None) -> Secrets:
        """Raises SecretError."""
        if reference is None:
            return {}
        key = ObjectKey(reference.namespace, reference.name)
        try:
            found = await self._client.get(SECRETS, key)
            return {name: value.decode() for name, value in found.data.items()}
        except KubeError as error:
            missing = error.failure is KubeFailure.NOT_FOUND
            problem = "does not exist" if missing else f"cannot be read ({error.failure})"
            raise SecretError(f"secret {key} {problem}") from error
        except UnicodeDecodeError:
            raise SecretError(f"secret {key} holds a value that is not text") from None
