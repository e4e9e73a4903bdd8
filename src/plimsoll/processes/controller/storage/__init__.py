"""Loops around claims and volumes: binding, protection, ephemeral claims, repairs."""
