"""What volumes are made of. `protocol` says what each backend does."""
