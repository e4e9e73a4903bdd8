"""Documents that are encrypted in the file: `keys` reads the keys, `sealed_store` uses them."""
