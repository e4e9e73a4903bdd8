"""Custom resources: what a CustomResourceDefinition says, applied to the objects of its kind.

Start with `nodes`, the compiled form of a schema, and `served_kind`, which makes of a definition
what the server has for every other kind. `definition/` has the rules for definitions themselves,
`cel/` the language of `x-kubernetes-validations`.
"""
