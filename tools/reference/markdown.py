"""The little Markdown that generated pages are made of."""

from collections.abc import Iterable, Sequence

from tools.wrap import wrapped

GENERATED = "<!-- Made by `make docs` from the code. Change the code, not this page. -->"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def document(title: str, *parts: str) -> str:
    return wrapped("\n\n".join([f"# {title}", GENERATED, *parts]) + "\n")
