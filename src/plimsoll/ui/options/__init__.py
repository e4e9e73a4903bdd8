"""How settings and flags become options of a command."""
