"""Charts as SVG that stands in an HTML page. Colours are the page's (`--c0` …), for light and dark.

Everything is drawn in one coordinate system of 720 by 240, which the page scales.
"""

from collections.abc import Iterator, Sequence
from html import escape

from plimsoll.ui.simulate.report import (
    BarChart,
    Curve,
    CurveChart,
    CurveStyle,
    FaultSpan,
    span,
)

WIDTH, HEIGHT = 720.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 12.0, 12.0, 26.0
COLOURS = 6
ROUND = (1, 2, 5, 10)
TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
TICKS = 5
GAP = 0.25
"""Of the width of a bar, between two bars."""


def drawn_curves(chart: CurveChart, faults: Sequence[FaultSpan]) -> str:
    scale = _Scale.of(chart)
    parts = [
        *_fault_bands(faults, scale),
        *_value_axis(chart, scale),
        *_time_axis(scale),
        *(_stacked(chart, scale) if chart.style is CurveStyle.STACKED else _lines(chart, scale)),
    ]
    return _svg(chart.title, parts)


def drawn_bars(chart: BarChart) -> str:
    top = max((count for _, count in chart.bars), default=0) or 1
    step = (WIDTH - LEFT - RIGHT) / len(chart.bars)
    room = HEIGHT - TOP - BOTTOM - 14
    parts = []
    for number, (name, count) in enumerate(chart.bars):
        height = count / top * room
        x, y = LEFT + step * (number + GAP / 2), HEIGHT - BOTTOM - height
        middle = LEFT + step * (number + 0.5)
        if count:
            width = step * (1 - GAP)
            parts.append(
                f'<rect class="f0" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}"'
                f' height="{height:.1f}" rx="2"><title>{escape(name)}: {count}</title></rect>'
            )
            parts.append(_text(middle, y - 4, str(count), style="value"))
        parts.append(_text(middle, HEIGHT - 8, name))
    base = HEIGHT - BOTTOM
    parts.append(f'<path class="axis" d="M{LEFT} {base}H{WIDTH - RIGHT}"/>')
    return _svg(chart.title, parts)


class _Scale:
    def __init__(self, end: float, top: float, step: float) -> None:
        self.end = end
        self.top = top
        self.step = step

    @classmethod
    def of(cls, chart: CurveChart) -> "_Scale":
        every = [v for curve in chart.curves for v in (*curve.values, *curve.shadow)]
        if chart.style is CurveStyle.STACKED:
            every = [sum(values) for values in zip(*(c.values for c in chart.curves), strict=True)]
        most = max(every, default=0.0) or 1.0
        step = _round_step(most / TICKS, 1024.0 if chart.is_binary else 1000.0)
        return cls(max(chart.times[-1], 1.0), -(-most // step) * step, step)

    def x(self, at: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(max(at / self.end, 0.0), 1.0)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.top


def _round_step(least: float, base: float) -> float:
    """1, 2 or 5 times a power of ten, in the unit that the number is written in."""
    unit = 1.0
    while least >= unit * base:
        unit *= base
    power = 1.0
    while True:
        for factor in ROUND:
            if factor * power * unit >= least:
                return factor * power * unit
        power *= 10


def _fault_bands(faults: Sequence[FaultSpan], scale: _Scale) -> Iterator[str]:
    for each in faults:
        x = scale.x(each.begin)
        width = max(scale.x(each.end) - x, 1.5)
        height = HEIGHT - TOP - BOTTOM
        yield (
            f'<rect class="fault" x="{x:.1f}" y="{TOP}" width="{width:.1f}" height="{height}">'
            f"<title>{escape(each.what)}</title></rect>"
        )


def _value_axis(chart: CurveChart, scale: _Scale) -> Iterator[str]:
    value = 0.0
    while value <= scale.top:
        y = scale.y(value)
        yield f'<path class="{"grid" if value else "axis"}" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield _text(LEFT - 6, y + 4, chart.write(value) if value else "0", "end")
        value += scale.step


def _time_axis(scale: _Scale) -> Iterator[str]:
    wanted = scale.end / 8
    step = next((each for each in TIME_STEPS if each >= wanted), TIME_STEPS[-1])
    at = 0
    while at <= scale.end:
        yield _text(scale.x(at), HEIGHT - 8, span(at))
        at += step


def _lines(chart: CurveChart, scale: _Scale) -> Iterator[str]:
    for number, curve in enumerate(chart.curves):
        colour = number % COLOURS
        if curve.shadow:
            points = _points(chart.times, curve.shadow, scale)
            yield _line(points, f"dash s{colour}", f"{curve.name}, published")
        yield _line(_points(chart.times, curve.values, scale), f"line s{colour}", curve.name)


def _line(points: str, style: str, name: str) -> str:
    return f'<path class="{style}" d="M{points}"><title>{escape(name)}</title></path>'


def _points(times: Sequence[float], values: Sequence[float], scale: _Scale) -> str:
    """A point that lies between two equal ones adds nothing."""
    kept = [
        (at, value)
        for index, (at, value) in enumerate(zip(times, values, strict=True))
        if index in (0, len(times) - 1) or value != values[index - 1] or value != values[index + 1]
    ]
    return "L".join(f"{scale.x(at):.1f} {scale.y(value):.1f}" for at, value in kept)


def _stacked(chart: CurveChart, scale: _Scale) -> Iterator[str]:
    below = (0.0,) * len(chart.times)
    for number, curve in enumerate(chart.curves):
        above = tuple(a + b for a, b in zip(below, curve.values, strict=True))
        if any(curve.values):
            yield _layer(chart.times, (below, above), scale, (number, curve))
        below = above


def _layer(
    times: Sequence[float],
    bounds: tuple[Sequence[float], Sequence[float]],
    scale: _Scale,
    numbered: tuple[int, Curve],
) -> str:
    below, above = bounds
    number, curve = numbered
    there = _points(times, above, scale)
    back = _points(times[::-1], below[::-1], scale)
    colour = number % COLOURS
    return (
        f'<path class="f{colour} layer" d="M{there}L{back}Z">'
        f"<title>{escape(curve.name)}</title></path>"
    )


def _text(x: float, y: float, text: str, anchor: str = "middle", *, style: str = "tick") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{style}" {place}>{escape(text)}</text>'


def _svg(title: str, parts: Sequence[str]) -> str:
    label = f'role="img" aria-label="{escape(title)}"'
    return f'<svg viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" {label}>{"".join(parts)}</svg>'
