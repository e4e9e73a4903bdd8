"""Observe: turn a watch into typed snapshots. Start with `watch`."""
