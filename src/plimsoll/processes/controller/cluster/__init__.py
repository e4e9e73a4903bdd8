"""Loops that look after nodes, namespaces, budgets, owners and accounts of the cluster."""
