"""Takes back volumes that are bound and unused. Start with `loop`; `decide.rollback` decides."""
