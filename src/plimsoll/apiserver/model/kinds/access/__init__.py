"""Rules of the kinds that say who may do what: RBAC, service accounts, certificates."""
