"""Patches as functions of two documents: start at `json_patch`, `merge_patch` or `strategic`."""
