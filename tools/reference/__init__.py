"""The generated half of docs/reference: what the code says about itself, as pages.

`make docs` writes them (`python -m tools.reference`), a test compares. Start with `pages`.
"""
