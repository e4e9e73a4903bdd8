"""A report as one HTML file, light or dark; it needs no scripts and no network."""

from html import escape
from importlib.resources import files

from plimsoll.ui.simulate.plots import COLOURS, drawn_bars, drawn_curves
from plimsoll.ui.simulate.report import (
    BarChart,
    CurveChart,
    CurveStyle,
    FaultSpan,
    ReportTable,
    SimulationReport,
    Tone,
)

STYLE = "page.css"


def written_page(report: SimulationReport) -> str:
    style = files("plimsoll.ui.simulate").joinpath(STYLE).read_text()
    badge = "good" if report.tone is Tone.GOOD else "bad"
    mark = "✓" if report.tone is Tone.GOOD else "✗"
    parts = (
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(report.title)} - plimsoll simulate</title>",
        f"<style>{style}</style></head><body><main>",
        f"<header><p>plimsoll simulate</p><h1>{escape(report.title)}</h1>",
        f'<p class="verdict {badge}"><b>{mark}</b> {escape(report.verdict)}</p></header>',
        _facts(report),
        *(_table(table) for table in report.tables[: _first_tables(report)]),
        '<section class="charts">',
        *(_chart(chart, report.faults) for chart in report.charts),
        "</section>",
        *(_table(table) for table in report.tables[_first_tables(report) :]),
        "</main></body></html>",
    )
    return "\n".join(parts) + "\n"


def _first_tables(report: SimulationReport) -> int:
    """What went wrong, and what happened, stand before the charts."""
    first = ("Broken invariants", "Pods that do not run", "What happened")
    return sum(1 for table in report.tables if table.title in first)


def _facts(report: SimulationReport) -> str:
    tiles = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in report.facts
    )
    return f"<dl>{tiles}</dl>"


def _chart(chart: CurveChart | BarChart, faults: tuple[FaultSpan, ...]) -> str:
    if isinstance(chart, BarChart):
        drawing, legend = drawn_bars(chart), ""
    else:
        drawing, legend = drawn_curves(chart, faults), _legend(chart, faults)
    return (
        f"<figure><h2>{escape(chart.title)}</h2>{legend}{drawing}"
        f"<figcaption>{escape(chart.note)}</figcaption></figure>"
    )


def _legend(chart: CurveChart, faults: tuple[FaultSpan, ...]) -> str:
    items = [
        f'<li><i class="b{number % COLOURS}"></i>{escape(curve.name)}</li>'
        for number, curve in enumerate(chart.curves)
        if len(chart.curves) > 1 and (chart.style is CurveStyle.LINES or any(curve.values))
    ]
    if faults:
        items.append('<li><i class="bf"></i>fault</li>')
    return f"<ul>{''.join(items)}</ul>" if items else ""


def _table(table: ReportTable) -> str:
    sides = ["n" if name in table.numbers else "" for name in table.head]
    head = "".join(
        f'<th scope="col" class="{side}">{escape(name)}</th>'
        for name, side in zip(table.head, sides, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td class="{side}">{escape(cell)}</td>' for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return (
        f"<section><h2>{escape(table.title)}</h2><div class=scroll><table><thead><tr>{head}</tr>"
        f"</thead><tbody>{rows}</tbody></table></div>{note}</section>"
    )
