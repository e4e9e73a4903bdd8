"""The tour that `plimsoll demo` gives: a whole cluster, and the life of some data in it.

`tour` is what is told, in order, and `together` a scene of it; `stage` is how the cluster is asked,
`objects` what is put into it.
"""
