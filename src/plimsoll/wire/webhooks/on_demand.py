"""A client of webhooks that is loaded with the first question: most servers have no webhooks."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plimsoll.wire.webhooks.client import HttpWebhookClient


class WebhooksOnDemand:
    def __init__(self) -> None:
        self._client: HttpWebhookClient | None = None

    async def post(
        self, url: str, body: bytes, *, ca_bundle: bytes, server_name: str, seconds: float
    ) -> bytes:
        """The body of a 200. Raises OSError for everything else; its text says what happened."""
        return await self._loaded().post(
            url, body, ca_bundle=ca_bundle, server_name=server_name, seconds=seconds
        )

    def _loaded(self) -> "HttpWebhookClient":
        if self._client is None:
            # Loading an HTTP client takes long.
            from plimsoll.wire.webhooks.client import HttpWebhookClient  # noqa: PLC0415

            self._client = HttpWebhookClient()
        return self._client

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
