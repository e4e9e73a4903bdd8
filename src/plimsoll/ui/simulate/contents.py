"""What a report of a run says: which tables and charts, in which order. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from plimsoll.simulator.invariants import Violation
from plimsoll.simulator.recording.recording import (
    PodHistory,
    RecordedArea,
    RecordedPodState,
    Recording,
    Sample,
)
from plimsoll.simulator.run import RunVerdict
from plimsoll.ui.simulate.report import (
    BarChart,
    Curve,
    CurveChart,
    CurveStyle,
    FaultSpan,
    ReportTable,
    SimulationReport,
    Tone,
    quantile,
    size,
    span,
)

MOST_ROWS = 20
BOUNDS = (1, 2, 5, 10, 30, 60, 120, 300, 600)
"""Of the bars of pending times, in seconds."""
CREATE = "CreateVolume"


def report_of(name: str, verdict: RunVerdict, recording: Recording) -> SimulationReport:
    tone, sentence = judged(verdict, recording)
    return SimulationReport(
        title=name,
        tone=tone,
        verdict=sentence,
        facts=_facts(verdict, recording),
        tables=tuple(table for table in _tables(verdict, recording) if table.rows),
        charts=tuple(_charts(recording)),
        faults=tuple(_fault_spans(recording)),
    )


def judged(verdict: RunVerdict, recording: Recording) -> tuple[Tone, str]:
    """Whether all is well in the end, and why not."""
    broken = _counted(len(verdict.unknown), "invariant was", "invariants were") + " broken"
    if verdict.was_interrupted:
        after = span(verdict.virtual_seconds - recording.began_at)
        held = broken if verdict.unknown else "every invariant held"
        return Tone.BAD, f"Stopped after {after} of virtual time; until then {held}."
    wrong = []
    if verdict.unknown:
        wrong.append(broken)
    if recording.idle:
        wrong.append(_counted(len(recording.idle), "pod does", "pods do") + " not run")
    if wrong:
        return Tone.BAD, f"In the end {' and '.join(wrong)}."
    running = sum(1 for pod in recording.present if pod.state is RecordedPodState.RUNNING)
    return Tone.GOOD, f"Every invariant held, and all {running} pods run in the end."


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _facts(verdict: RunVerdict, recording: Recording) -> tuple[tuple[str, str], ...]:
    creates, failed = _creates(recording)
    pending = pending_times(recording.pods)
    last = recording.samples[-1]
    return (
        ("nodes", str(recording.nodes)),
        ("virtual time", span(verdict.virtual_seconds - recording.began_at)),
        ("pods created", str(len(recording.pods))),
        ("pods running", str(last.pods[RecordedPodState.RUNNING])),
        ("volumes", str(sum(last.volumes_by_driver.values()))),
        ("median pending time", span(quantile(pending, 0.5)) if pending else "-"),
        ("longest pending time", span(pending[-1]) if pending else "-"),
        ("failed creates", f"{failed} of {creates}"),
        ("refused nodes", str(recording.refused_nodes)),
        ("evicted pods", str(recording.evictions)),
    )


def _creates(recording: Recording) -> tuple[int, int]:
    """CreateVolume calls: all, and those that failed."""
    made = sum(count for (_, call), count in recording.calls.items() if call == CREATE)
    failed = sum(n for (_, call, _), n in recording.failed_calls.items() if call == CREATE)
    return made, failed


def pending_times(pods: list[PodHistory]) -> list[float]:
    """From creation until the pod ran, in ascending order, of those that did."""
    return sorted(p.pending_seconds for p in pods if p.pending_seconds is not None)


# Tables


def _tables(verdict: RunVerdict, recording: Recording) -> Iterator[ReportTable]:
    yield _violations(verdict.violations, recording.began_at)
    yield _idle_pods(recording)
    yield _happenings(recording)
    yield _placement(recording)
    yield _workloads(recording)
    yield _capacity(recording)
    yield _calls(recording)


def _violations(violations: tuple[Violation, ...], began: float) -> ReportTable:
    rows = [
        (
            span(each.at - began),
            "known" if each.is_known else "broken",
            str(each.invariant),
            each.message,
        )
        for each in violations[:MOST_ROWS]
    ]
    return ReportTable(
        title="Broken invariants",
        head=("AT", "", "INVARIANT", "WHAT"),
        rows=tuple(rows),
        note=_more(len(violations), "known: today's program breaks it by design."),
    )


def _more(number: int, note: str) -> str:
    left = number - MOST_ROWS
    return note if left <= 0 else f"{note} {left} more are left out."


def _idle_pods(recording: Recording) -> ReportTable:
    """Pods of one workload that wait in the same state share a row."""
    groups: dict[tuple[str, str], list[PodHistory]] = defaultdict(list)
    for pod in recording.idle:
        groups[pod.owner, pod.state].append(pod)
    rows = [
        (owner, str(len(pods)), state, pods[0].name.partition("/")[2], _why(pods[0]))
        for (owner, state), pods in sorted(groups.items())
    ]
    return ReportTable(
        title="Pods that do not run",
        head=("WORKLOAD", "PODS", "STATE", "ONE OF THEM", "WHY IT DOES NOT"),
        rows=tuple(rows[:MOST_ROWS]),
        numbers=frozenset({"PODS"}),
        note=_more(len(rows), "As things stood in the end."),
    )


def _why(pod: PodHistory) -> str:
    return pod.message or (f"on {pod.node}" if pod.node else "no scheduler has looked at it")


def _happenings(recording: Recording) -> ReportTable:
    rows = [
        (span(each.at), "fault" if each.is_fault else "user", each.what)
        for each in recording.happenings[:MOST_ROWS]
    ]
    note = "Times count from when the cluster was up."
    return ReportTable(
        title="What happened",
        head=("AT", "WHO", "WHAT"),
        rows=tuple(rows),
        note=_more(len(recording.happenings), note),
    )


def _placement(recording: Recording) -> ReportTable:
    """Running pods of each workload, by zone."""
    counts: Counter[tuple[str, str]] = Counter()
    for pod in recording.present:
        if pod.state is RecordedPodState.RUNNING:
            counts[pod.owner, pod.zone] += 1
    owners = sorted({owner for owner, _ in counts})
    lowest = {zone: _lowest(recording.samples, zone) for zone in recording.zones}
    rows = [(owner, *(str(counts[owner, zone]) for zone in recording.zones)) for owner in owners]
    totals = [sum(counts[owner, zone] for owner in owners) for zone in recording.zones]
    if rows:
        rows.append(("all", *map(str, totals)))
        rows.append(("fewest later", *(str(lowest[zone]) for zone in recording.zones)))
    return ReportTable(
        title="Placement in the end",
        head=("RUNNING PODS OF", *(f"ZONE {zone}" for zone in recording.zones)),
        rows=tuple(rows),
        numbers=frozenset(f"ZONE {zone}" for zone in recording.zones),
        note="Fewest later: how few ran in the zone at any time after its highest number.",
    )


def _lowest(samples: list[Sample], zone: str) -> int:
    counts = [sample.running_by_zone[zone] for sample in samples]
    return min(counts[counts.index(max(counts)) :])


def _workloads(recording: Recording) -> ReportTable:
    by_owner: dict[str, list[PodHistory]] = defaultdict(list)
    for pod in recording.pods:
        by_owner[pod.owner].append(pod)
    return ReportTable(
        title="Workloads",
        head=("WORKLOAD", "CREATED", "RUNNING", "EVICTED", "MEDIAN", "95 %", "LONGEST"),
        rows=tuple(_workload(owner, pods) for owner, pods in sorted(by_owner.items())),
        numbers=frozenset({"CREATED", "RUNNING", "EVICTED", "MEDIAN", "95 %", "LONGEST"}),
        note="Pending times: from a pod's creation until it runs. A pod that is replaced counts"
        " again.",
    )


def _workload(owner: str, pods: list[PodHistory]) -> tuple[str, ...]:
    times = pending_times(pods)
    parts = [span(quantile(times, part)) for part in (0.5, 0.95, 1.0)] if times else ["-"] * 3
    running = sum(1 for p in pods if p.gone_at is None and p.state is RecordedPodState.RUNNING)
    evicted = sum(1 for p in pods if p.evicted_at is not None)
    return (owner, str(len(pods)), str(running), str(evicted), *parts)


def _capacity(recording: Recording) -> ReportTable:
    return ReportTable(
        title="Capacity",
        head=("DRIVER", "ZONE", "POOLS", "SIZE", "FREE", "LEAST FREE", "AT", "PUBLISHED"),
        rows=tuple(_area(area, recording.samples) for area in recording.areas),
        numbers=frozenset({"POOLS", "SIZE", "FREE", "LEAST FREE", "PUBLISHED"}),
        note="Free and published: in the end. Published is what the scheduler decides by.",
    )


def _area(area: RecordedArea, samples: list[Sample]) -> tuple[str, ...]:
    last = samples[-1]
    least = min(samples, key=lambda sample: sample.free_bytes[area.name])
    published = last.published_bytes.get(area.name)
    return (
        area.driver,
        area.zone or "all",
        str(area.pools),
        size(area.size_bytes),
        size(last.free_bytes[area.name]),
        size(least.free_bytes[area.name]),
        span(least.at),
        "-" if published is None else size(published),
    )


def _calls(recording: Recording) -> ReportTable:
    """Calls that change something, and all others that failed."""
    failed: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (driver, call, code), count in sorted(recording.failed_calls.items()):
        failed[driver, call].append(f"{count} {code}")
    shown = [key for key in sorted(recording.calls) if key in failed or not _is_look(key[1])]
    rows = [
        (driver, call, str(recording.calls[driver, call]), ", ".join(failed[driver, call]) or "-")
        for driver, call in shown
    ]
    return ReportTable(
        title="Calls of drivers",
        head=("DRIVER", "CALL", "CALLS", "FAILED"),
        rows=tuple(rows),
        numbers=frozenset({"CALLS"}),
    )


def _is_look(call: str) -> bool:
    return "Get" in call or call in ("Probe", "ListVolumes", "ValidateVolumeCapabilities")


# Charts


def _charts(recording: Recording) -> Iterator[CurveChart | BarChart]:
    samples = recording.samples
    times = tuple(sample.at for sample in samples)
    states = (
        RecordedPodState.RUNNING,
        RecordedPodState.STARTING,
        RecordedPodState.WAITING,
        RecordedPodState.LEAVING,
    )
    yield CurveChart(
        title="Pods",
        note="Waiting pods have no node. Leaving pods are being deleted.",
        times=times,
        curves=tuple(
            Curve(name=state, values=tuple(float(s.pods[state]) for s in samples))
            for state in states
        ),
        style=CurveStyle.STACKED,
    )
    yield CurveChart(
        title="Running pods by zone",
        note="As the API server has them; a pod on a lost node counts until it is evicted.",
        times=times,
        curves=tuple(
            Curve(name=f"zone {z}", values=tuple(float(s.running_by_zone[z]) for s in samples))
            for z in recording.zones
        ),
    )
    yield CurveChart(
        title="Ready nodes",
        note="A node that is silent for longer than its grace period is not ready.",
        times=times,
        curves=(Curve(name="ready", values=tuple(float(s.nodes_ready) for s in samples)),),
    )
    for driver in dict.fromkeys(area.driver for area in recording.areas):
        yield _free_chart(driver, recording, times)
    yield _pending_chart(recording)


def _free_chart(driver: str, recording: Recording, times: tuple[float, ...]) -> CurveChart:
    areas = [area for area in recording.areas if area.driver == driver]
    return CurveChart(
        title=f"Free capacity of {driver}",
        note="Dashed: what is published, and so what the scheduler decides by.",
        times=times,
        curves=tuple(
            Curve(
                name=f"zone {area.zone}" if area.zone else "all zones",
                values=tuple(float(s.free_bytes[area.name]) for s in recording.samples),
                shadow=_shadow(area, recording.samples),
            )
            for area in areas
        ),
        write=size,
        is_binary=True,
    )


def _shadow(area: RecordedArea, samples: list[Sample]) -> tuple[float, ...]:
    if not any(area.name in sample.published_bytes for sample in samples):
        return ()
    return tuple(float(sample.published_bytes.get(area.name, 0)) for sample in samples)


def _pending_chart(recording: Recording) -> BarChart:
    times = pending_times(recording.pods)
    bars = []
    lower = 0
    for upper in BOUNDS:
        count = sum(1 for each in times if lower <= each < upper)
        bars.append((f"< {span(upper)}", count))
        lower = upper
    bars.append((f"≥ {span(lower)}", sum(1 for each in times if each >= lower)))
    bars.append(("never", len(recording.pods) - len(times)))
    return BarChart(
        title="Pending time",
        note="How many pods ran so soon after their creation.",
        bars=tuple(bars),
    )


def _fault_spans(recording: Recording) -> Iterator[FaultSpan]:
    for each in recording.happenings:
        if each.is_fault:
            yield FaultSpan(begin=each.at, end=each.at + each.lasting, what=each.what)
