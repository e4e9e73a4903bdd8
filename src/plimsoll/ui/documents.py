"""Answers as documents, for other programs: the option that asks for one, and its text."""

import json
from typing import Any

import click
import yaml

TABLE, JSON, YAML = "table", "json", "yaml"

output_option = click.option(
    "-o", "output_format", type=click.Choice([TABLE, JSON, YAML]), default=TABLE, show_default=True
)


def written_document(document: Any, output_format: str) -> str:
    """As JSON, or else as YAML."""
    if output_format == JSON:
        return json.dumps(document, indent=2)
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text.rstrip()
