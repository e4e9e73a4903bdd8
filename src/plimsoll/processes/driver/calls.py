"""Counts and times every call, and logs it when it is refused. Its content is never logged."""

import logging
from collections.abc import Mapping

from grpc import StatusCode

from plimsoll.runtime.clock import Clock
from plimsoll.runtime.metrics import Children, Metrics
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.transport import Metadata

log = logging.getLogger(__name__)

ORDINARY = frozenset({StatusCode.ABORTED, StatusCode.NOT_FOUND})
"""Refusals that callers expect to get now and then."""


class Calls:
    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._clock = clock
        self._answers = Children(
            metrics.counter("plimsoll_driver_calls_total", "Calls answered.", ["method", "code"])
        )
        self._seconds = metrics.histogram(
            "plimsoll_driver_call_seconds", "How long calls took.", ["method"]
        )

    def counted(self, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
        return {name: self._counted(name, handler) for name, handler in handlers.items()}

    def _counted(self, name: str, handler: Handler) -> Handler:
        method = name.rpartition("/")[2]
        seconds = self._seconds.labels(method)

        async def call(request: bytes, metadata: Metadata) -> bytes:
            began = self._clock.monotonic()
            # What is neither an answer nor a refusal is a bug, or a caller that went away.
            code = StatusCode.UNKNOWN
            try:
                answer = await handler(request, metadata)
                code = StatusCode.OK
            except CsiStatusError as refusal:
                code = refusal.code
                level = logging.DEBUG if code in ORDINARY else logging.INFO
                facts = {"method": method, "code": code.name, "detail": refusal.detail}
                log.log(level, "call refused", extra=facts)
                raise
            finally:
                seconds.observe(self._clock.monotonic() - began)
                self._answers.labels(method, code.name).inc()
            return answer

        return call
