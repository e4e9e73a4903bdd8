"""How flags become options of a command."""
