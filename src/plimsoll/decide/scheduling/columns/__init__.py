"""The cluster in columns over its nodes, updated change by change, so that a pod is judged on all
nodes at once.

Start with `cluster`, which takes changes, and `rules`, which answer for a pod. `nodes` gives every
node a slot, `labels` knows which slots have a label, `segments` which nodes can be treated alike.
`resources`, `capacity`, `volumes` and `attachments` hold what can be had on nodes, `flags` says why
not. Every answer is that of the plain rule in `decide.scheduling`, node by node."""
