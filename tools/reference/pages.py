"""The table of generated pages."""

from pathlib import Path

from tools.reference import cli, loops, metrics, reasons, settings

ROOT = Path(__file__).parents[2]
DIRECTORY = ROOT / "docs" / "reference"

PAGES = {
    "cli.md": cli.page,
    "loops.md": loops.page,
    "metrics.md": metrics.page,
    "reasons.md": reasons.page,
    "settings.md": settings.page,
}


def pages() -> dict[str, str]:
    """Text by file name; the same code gives the same text."""
    return {name: page() for name, page in PAGES.items()}
