"""Kinds that guide scheduling and eviction: PriorityClass, PodDisruptionBudget."""
