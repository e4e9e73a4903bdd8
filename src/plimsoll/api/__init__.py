"""The nouns: Kubernetes objects, their tables and their rules. No I/O, no clock, no logging.

Start with `registry` (which kinds exist), then `meta` and `core` (typed views of documents)."""
