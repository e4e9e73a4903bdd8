"""Rules for CustomResourceDefinitions themselves: what is accepted, and what their status says.

Start with `rules`; `spec` is what a definition must look like, `schemas` and `structural` what its
schemas must, `conditions` how names are accepted.
"""
