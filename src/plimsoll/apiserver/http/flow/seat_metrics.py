"""Metrics of seats and of their queues, under kube-apiserver's names."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from plimsoll.apiserver.http.flow.seats import FairSeats

PREFIX = "apiserver_flowcontrol_"


class SeatMetrics(Collector):
    def __init__(self, seats: Mapping[str, FairSeats]) -> None:
        self._seats = seats

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        level = ["priority_level"]
        executing = GaugeMetricFamily(
            f"{PREFIX}current_executing_seats", "Seats that requests have.", labels=level
        )
        in_queue = GaugeMetricFamily(
            f"{PREFIX}current_inqueue_requests", "Requests that wait for a seat.", labels=level
        )
        dispatched = CounterMetricFamily(
            f"{PREFIX}dispatched_requests", "Requests that got a seat.", labels=level
        )
        rejected = CounterMetricFamily(
            f"{PREFIX}rejected_requests",
            "Requests that were told to come again, by reason.",
            labels=[*level, "reason"],
        )
        for name, seats in self._seats.items():
            executing.add_metric([name], seats.executing)
            in_queue.add_metric([name], seats.in_queue)
            dispatched.add_metric([name], seats.dispatched)
            for reason, number in seats.rejected.items():
                rejected.add_metric([name, reason], number)
        yield from (executing, in_queue, dispatched, rejected)
