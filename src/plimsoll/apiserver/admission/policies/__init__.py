"""ValidatingAdmissionPolicy: start with `plugin`, which asks every policy that a write concerns.

`index` keeps policies and bindings compiled, `matching` says which a write concerns, `params` finds
their parameters, `questions` is what expressions see, `evaluation` what becomes of one policy.
"""
