"""Whether a server answers at all. Loads next to nothing: a small supervisor probes as well."""

import asyncio
import ssl
from datetime import timedelta
from urllib.parse import urlsplit


async def is_answered(url: str, limit: timedelta, trust: ssl.SSLContext | None = None) -> bool:
    """Whether the server behind the address answers with any status in time; `trust` for https."""
    where = urlsplit(url)
    request = f"GET {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nConnection: close\r\n\r\n"
    try:
        async with asyncio.timeout(limit.total_seconds()):
            reader, writer = await asyncio.open_connection(where.hostname, where.port, ssl=trust)
            try:
                writer.write(request.encode())
                return (await reader.readline()).startswith(b"HTTP/1.")
            finally:
                writer.close()
    except (TimeoutError, OSError, ValueError):  # ValueError: a line without end
        return False
