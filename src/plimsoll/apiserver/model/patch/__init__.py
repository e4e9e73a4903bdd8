"""Patches that only the server applies: JSON patch and strategic merge patch."""
