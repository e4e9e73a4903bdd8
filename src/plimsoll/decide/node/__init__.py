"""What a node does for its pods, decided: admission, volumes in and out, and what it reports.

Start with `volumes`, the way of a volume into a pod; `teardown` is the way back,
`actual_state` what is there in between.
"""
