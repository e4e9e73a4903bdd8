"""One module per command. Start with `main`."""
