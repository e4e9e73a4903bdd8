"""A report as text: tables, and a line of small bars for each curve."""

from collections.abc import Iterator

from plimsoll.ui.simulate.report import (
    BarChart,
    CurveChart,
    CurveStyle,
    ReportTable,
    SimulationReport,
    span,
)

BARS = " ▁▂▃▄▅▆▇█"
WIDTH = 60
MOST_CELL = 100


def written_text(report: SimulationReport) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: SimulationReport) -> Iterator[str]:
    yield report.title
    yield report.verdict
    yield ""
    width = max(len(name) for name, _ in report.facts)
    for name, value in report.facts:
        yield f"  {name.ljust(width)}  {value}"
    for table in report.tables:
        yield from _table(table)
    for chart in report.charts:
        yield ""
        yield chart.title
        yield from _bars(chart) if isinstance(chart, BarChart) else _curves(chart)


def _table(table: ReportTable) -> Iterator[str]:
    yield ""
    yield table.title
    lines = [table.head, *table.rows]
    widths = [min(max(map(len, column)), MOST_CELL) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.rjust(width) if name in table.numbers else cell.ljust(width)
            for cell, width, name in zip(line, widths, table.head, strict=True)
        ]
        yield f"  {'   '.join(cells)}".rstrip()


def _curves(chart: CurveChart) -> Iterator[str]:
    """All curves of a chart have the same scale, and the same times below each other."""
    picked = _picked(len(chart.times))
    top = max((max(curve.values) for curve in chart.curves), default=0.0)
    width = max(len(curve.name) for curve in chart.curves)
    for curve in chart.curves:
        bars = "".join(_bar(curve.values[index], top) for index in picked)
        last, most, least = (f(curve.values) for f in (lambda v: v[-1], max, min))
        numbers = f"end {chart.write(last)}, most {chart.write(most)}"
        if chart.style is CurveStyle.LINES:
            numbers += f", least {chart.write(least)}"
        yield f"  {curve.name.ljust(width)}  {bars}  {numbers}"
    begin, end = span(chart.times[0]), span(chart.times[-1])
    yield f"  {' ' * width}  {begin}{end.rjust(len(picked) - len(begin))}"


def _picked(number: int) -> list[int]:
    """Which samples are shown, from the first to the last."""
    if number <= WIDTH:
        return [*range(number)]
    return [round(each * (number - 1) / (WIDTH - 1)) for each in range(WIDTH)]


def _bar(value: float, top: float) -> str:
    """Blank is zero, and nothing else is."""
    if value <= 0 or not top:
        return BARS[0]
    return BARS[max(1, round(value / top * (len(BARS) - 1)))]


def _bars(chart: BarChart) -> Iterator[str]:
    top = max((count for _, count in chart.bars), default=0) or 1
    width = max(len(name) for name, _ in chart.bars)
    for name, count in chart.bars:
        bar = "█" * max(round(count / top * WIDTH), 1 if count else 0)
        yield f"  {name.rjust(width)}  {bar}{' ' if bar else ''}{count}"
