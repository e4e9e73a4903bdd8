"""Merge patches as functions of two documents; start at `merge_patch`."""
