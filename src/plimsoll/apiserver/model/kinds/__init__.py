"""What the API server knows of each kind beyond its schema: defaults, preparation, validation.

Start with `rules`, the shape of a kind's rules, and `table`, which lists the rules of all kinds."""
