"""Asks the driver for the capacity of one pair of segment and class after the other.

Any number of workers take pairs that are due from the publisher, call GetCapacity and, where the
driver has it, ListPools, and write what has changed. A pair whose call or write fails is asked
about again after a pause that grows. When the API refuses all writes, no worker asks before that
pause is over.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from plimsoll.decide.capacity.published import Pair
from plimsoll.decide.capacity.publishing import Publisher
from plimsoll.decide.capacity.reports import CapacityAnswer
from plimsoll.decide.capacity.tokens import CapacityToken
from plimsoll.decide.plan import Patch, Plan
from plimsoll.enact.enactor import Done, Enactor, Overtaken
from plimsoll.processes.provisioner.capacity.pools import PoolQueries
from plimsoll.processes.provisioner.capacity.write_retry import WriteRetry, concerns_all
from plimsoll.processes.provisioner.link import DriverLink
from plimsoll.reconcile.loop import Tools
from plimsoll.reconcile.observed import Observed
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.workqueue import WorkQueue
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.errors import Failure

log = logging.getLogger(__name__)


class Reported(StrEnum):
    WRITTEN = "Written"
    UNCHANGED = "Unchanged"
    UNANSWERED = "Unanswered"
    """The driver gave no answer; the old number stays."""
    REFUSED = "Refused"
    """The server did not take the new number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    publisher: Publisher
    link: DriverLink
    enactor: Enactor
    own: Observed
    """The capacity objects; what was written is shown there at once."""
    retries: Backoff
    """Of one pair."""
    pauses: Backoff
    """Of all pairs, when the API refuses all writes."""
    on_finish: Callable[[], None]
    token: Callable[[], CapacityToken]
    """That of all volumes recorded so far."""


class CapacityQueries:
    def __init__(self, tools: Tools, context: QueryContext) -> None:
        self._clock = tools.clock
        self._publisher = context.publisher
        self._link = context.link
        self._enactor = context.enactor
        self._own = context.own
        self._on_finish = context.on_finish
        self._token = context.token
        self._to_ask = asyncio.Event()
        """There may be pairs to ask the driver about."""
        self._retries: WorkQueue[Pair] = WorkQueue(tools.clock, tools.chance, context.retries)
        self._publishing = WriteRetry(tools.clock, tools.chance, context.pauses)
        self._pools = PoolQueries(context.link)
        self._reports = tools.metrics.counter(
            "plimsoll_provisioner_capacity_reports_total",
            "Capacities of a segment and class that were looked at, by what came of it.",
            ("outcome",),
        )

    def workers(self, number: int) -> Mapping[str, Callable[[], Awaitable[None]]]:
        return {f"ask {each}": self._ask for each in range(number)}

    def wake(self) -> None:
        if self._publisher.waiting:
            self._to_ask.set()

    async def ask_again(self) -> None:
        """Lets pairs be asked about again whose pause is over. Never returns; cancel it."""
        while True:
            pair = await self._retries.get()
            self._retries.done(pair)
            self._publisher.ask(pair)
            self.wake()

    async def _ask(self) -> None:
        while True:
            await self._publishing.over()
            pair = self._publisher.take()
            if pair is None:
                self._to_ask.clear()
                await self._to_ask.wait()
                continue
            pairs = [pair, *self._publisher.take_alike(pair)]
            try:
                await self._ask_about(pairs)
            finally:
                for each in pairs:
                    self._publisher.finish(each, self._clock.now())
                self._on_finish()

    async def _ask_about(self, pairs: Sequence[Pair]) -> None:
        """One call: the same question is asked about all of them."""
        question = self._publisher.question(pairs[0])
        if question is None:
            return
        request = csi.GetCapacityRequest(
            parameters=question.parameters,
            accessible_topology=csi.Topology(segments=question.topology),
        )
        token = self._token()
        try:
            answer = _answer(await self._link.call(methods.GET_CAPACITY, request))
            listed = await self._pools.list(pairs, question)
        except DriverError as error:
            # With thousands of pairs, to log it again at every poll would hide the rest.
            level = logging.DEBUG if self._retries.failures(pairs[0]) else logging.WARNING
            log.log(level, "capacity unknown", extra={**_named(pairs[0]), "error": str(error)})
            for pair in pairs:
                self._reports.labels(Reported.UNANSWERED).inc()
                self._publisher.unanswered(pair)
                self._retries.add_rate_limited(pair)
            return
        for pair in pairs:
            await self._report(
                pair, replace(answer, pools=listed.get(pair.storage_class, ()), token=token)
            )

    async def _report(self, pair: Pair, answer: CapacityAnswer) -> None:
        plan = self._publisher.answered(pair, answer, self._clock.now())
        if not plan.writes or await self._publish(plan):
            is_new = bool(plan.writes)
            self._reports.labels(Reported.WRITTEN if is_new else Reported.UNCHANGED).inc()
            self._retries.forget(pair)
            return
        self._reports.labels(Reported.REFUSED).inc()
        # What is published is as old as if the driver had said nothing.
        self._publisher.unanswered(pair, answer.token)
        self._retries.add_rate_limited(pair)

    async def _publish(self, plan: Plan) -> bool:
        """Write the answer. Returns whether that succeeded; the publisher assumes it at once."""
        outcome = await self._enactor.enact(plan)
        if isinstance(outcome, Done):
            self._own.written(outcome.left)
            self._publishing.succeeded()
            return True
        if concerns_all(outcome):
            self._publishing.refused()
        match outcome:
            case Overtaken(write=Patch(key=key), error=error) if error.failure is Failure.NOT_FOUND:
                self._publisher.remove_object(key)
        return False


def _answer(answer: csi.GetCapacityResponse) -> CapacityAnswer:
    largest = answer.maximum_volume_size.value if answer.HasField("maximum_volume_size") else None
    return CapacityAnswer(answer.available_capacity, largest)


def _named(pair: Pair) -> dict[str, str]:
    segment = ",".join(f"{key}={value}" for key, value in pair.segment)
    return {"segment": segment, "class": pair.storage_class}
