"""Single values of custom resources: formats of texts, numbers, and regular expressions."""
