"""Decisions about nodes, namespaces, budgets and owners, one module for each control loop."""
