"""Rules of the kinds that limit others: LimitRange, ResourceQuota, PodDisruptionBudget."""
