"""The Common Expression Language, as far as rules of custom resources use it.

Start with `program`: a text is read (`tokens`, `parsing`), checked against the schema (`checking`)
and made into functions (`evaluating`, `macros`), which `rules` calls for the places of a document.
`library/` has Kubernetes' own functions. Every step is counted: no expression can run for long.
"""
