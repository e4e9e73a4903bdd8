"""Where volumes are stored. `protocol` says what each backend does."""
