"""The nouns that all processes share: Kubernetes objects, kinds, names, sizes, selectors.

No I/O, no clock, no logging. Start with `registry` (which kinds exist), then `meta` and `core`
(typed views of documents).
"""
