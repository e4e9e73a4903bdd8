"""How many pods run over time, as one picture: a panel for each workload, a line a setting."""

from collections.abc import Iterator, Sequence
from html import escape

from bench.hostpath.play import Played

WIDTH, HEIGHT = 760, 240
LEFT, RIGHT, TOP, BOTTOM = 60, 120, 34, 36
COLOURS = {
    "default": "#0b6e4f",
    "compatible": "#c8553d",
    "untracked": "#6c757d",
    "apart": "#3d5a80",
}
MOST_POINTS = 400
TICKS = 4


def svg(played: Sequence[Played]) -> str:
    names = list(dict.fromkeys(each.load.name for each in played))
    panels = [[each for each in played if each.load.name == name] for name in names]
    size = f'width="{WIDTH}" height="{HEIGHT * len(panels)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for number, panel in enumerate(panels):
        lines += [f'<g transform="translate(0 {number * HEIGHT})">', *_panel(panel), "</g>"]
    return "\n".join([*lines, "</svg>", ""])


def _panel(panel: Sequence[Played]) -> Iterator[str]:
    longest = max(0.1, *(each.seconds for each in panel))
    pods = panel[0].load.pods
    yield f'<text x="{LEFT}" y="20" font-weight="bold">{escape(str(panel[0].load))}</text>'
    yield from _axes(longest, pods)
    for number, each in enumerate(panel):
        colour = COLOURS[each.setting.name]
        points = " ".join(f"{_x(s, longest):.1f},{_y(n, pods):.1f}" for s, n in _steps(each))
        yield f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>'
        place = f'x="{WIDTH - RIGHT + 12}" y="{TOP + 14 + 18 * number}"'
        yield f'<text {place} fill="{colour}">{each.setting.name}</text>'


def _axes(longest: float, pods: int) -> Iterator[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    yield f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="black"/>'
    for tick in range(TICKS + 1):
        seconds, running = longest * tick / TICKS, pods * tick // TICKS
        x, y = _x(seconds, longest), _y(running, pods)
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{seconds:.1f} s</text>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{running}</text>'


def _steps(played: Played) -> list[tuple[float, int]]:
    """Seconds, and how many pods run by then; thinned out, and with the last one."""
    total = len(played.running_at)
    stride = max(1, total // MOST_POINTS)
    chosen = sorted({*range(0, total, stride), total - 1} - {-1})
    return [(0.0, 0), *((played.running_at[index], index + 1) for index in chosen)]


def _x(seconds: float, longest: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * seconds / longest


def _y(running: int, pods: int) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * running / pods
