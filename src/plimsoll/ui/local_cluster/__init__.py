"""A whole cluster on this machine: what `plimsoll up` and the demo start, and how it is kept up.

Start with `layout`, which says what runs; `children` runs it.
"""
