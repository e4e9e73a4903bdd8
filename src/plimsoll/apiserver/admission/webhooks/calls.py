"""The calls of webhooks for one request: those that were answered, and those still to be made."""

from dataclasses import dataclass, field
from typing import Protocol

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.webhooks.configuration import Webhook
from plimsoll.apiserver.admission.webhooks.review import WebhookVerdict


@dataclass(frozen=True, slots=True)
class WebhookFailed:
    """There is no verdict: the webhook was not reached, or made no sense."""

    why: str


@dataclass(frozen=True, slots=True)
class WebhookEndpoint:
    """Where a webhook listens."""

    url: str
    server_name: str = ""
    """The name that its certificate is for, where that is not the host of the URL."""


class WebhookClient(Protocol):
    """What carries questions to webhooks."""

    async def post(
        self, url: str, body: bytes, *, ca_bundle: bytes, server_name: str, seconds: float
    ) -> bytes:
        """The body of the answer. Raises OSError when there is none."""
        ...

    async def close(self) -> None: ...


class WebhookNeededError(Exception):
    """Stops a decision that cannot be made before a webhook is asked."""

    def __init__(self, webhook: Webhook, key: str, asked: Document) -> None:
        super().__init__(webhook.full_name)
        self.webhook = webhook
        self.key = key
        self.asked = asked


@dataclass(slots=True)
class WebhookCalls:
    """Of one request, over all the times that it is decided."""

    answers: dict[str, WebhookVerdict | WebhookFailed] = field(default_factory=dict)
    audit_annotations: dict[str, str] = field(default_factory=dict)

    def verdict(
        self, webhook: Webhook, key: str, asked: Document
    ) -> WebhookVerdict | WebhookFailed:
        """Raises WebhookNeededError when the webhook was not asked this yet."""
        found = self.answers.get(key)
        if found is None:
            raise WebhookNeededError(webhook, key, asked)
        return found
