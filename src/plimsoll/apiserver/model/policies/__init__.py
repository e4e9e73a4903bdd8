"""Admission policies: what one may say (`kinds`, `matching_rules`), and its expressions compiled.

`expressions` has the names that an expression may use, `compiled` a policy that is ready to run.
"""
