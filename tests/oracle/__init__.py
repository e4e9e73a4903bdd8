"""Cases with the answers of the real programs, and the code that asks ours the same questions.

The `.jsonl.gz` files are the cases; `SCHEMA-*.md` say how to read them. Start with `answers`, the
table of what can be asked. `python -m tests.oracle` runs them all."""
