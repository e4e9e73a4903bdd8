"""Answers as documents, for other programs."""

import json
from typing import Any

import yaml

TABLE, JSON, YAML = "table", "json", "yaml"


def written_document(document: Any, output_format: str) -> str:
    """As JSON, or else as YAML."""
    if output_format == JSON:
        return json.dumps(document, indent=2)
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text.rstrip()
