"""Questions to admission webhooks: one POST over TLS, verified, within a time and a size."""

import asyncio
import ssl
from functools import lru_cache

import aiohttp

from plimsoll.wire.sockets.connecting import told

ANSWER_LIMIT = 3 * 1024 * 1024
CONNECTIONS = 32


class HttpWebhookClient:
    """Connections are kept for the next question. Nothing is followed, no proxy is used."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def post(
        self, url: str, body: bytes, *, ca_bundle: bytes, server_name: str, seconds: float
    ) -> bytes:
        """The body of a 200. Raises OSError for everything else; its text says what happened."""
        try:
            async with asyncio.timeout(seconds):
                return await self._post(url, body, ca_bundle, server_name)
        except TimeoutError:
            raise OSError(f"no answer within {seconds:g} seconds") from None
        except (aiohttp.ClientError, ssl.SSLError, ValueError) as error:
            raise OSError(told(error)) from error

    async def _post(self, url: str, body: bytes, ca_bundle: bytes, server_name: str) -> bytes:
        async with self._opened().post(
            url,
            data=body,
            headers={"content-type": "application/json", "accept": "application/json"},
            ssl=tls_for(ca_bundle),
            server_hostname=server_name or None,
            allow_redirects=False,
        ) as answer:
            content = await answer.content.read(ANSWER_LIMIT)
            while chunk := await answer.content.read(ANSWER_LIMIT):
                content += chunk
                if len(content) > ANSWER_LIMIT:
                    raise OSError(f"the answer has more than {ANSWER_LIMIT} bytes")
        if answer.status != 200:  # noqa: PLR2004 - the only code with a review
            raise OSError(f"the webhook answered {answer.status}")
        return content

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=CONNECTIONS)
            self._session = aiohttp.ClientSession(connector=connector, trust_env=False)
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


@lru_cache(maxsize=64)
def tls_for(ca_bundle: bytes) -> ssl.SSLContext:
    """Trusts the bundle alone, or what the machine trusts where there is none."""
    return ssl.create_default_context(cadata=ca_bundle.decode() if ca_bundle else None)
