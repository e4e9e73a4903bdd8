"""The rules of `decide.scheduling`, for all nodes at once.

Start with `judge`, which asks them all. `standing` is about the pod's spec alone and shared by pods
that have the same; `bound`, `limits`, `late` and `zones` are about its volumes."""
