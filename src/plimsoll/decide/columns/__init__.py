"""The cluster in columns over its nodes, updated change by change, so that a pod is judged on all
nodes at once.

Start with `cluster`, which takes changes, and `judge`, which answers for a pod. `nodes` gives every
node a slot, `labels` knows which slots have a label, `segments` which nodes can be treated alike.
`basics`, `resources`, `capacity`, `volumes`, `attachments` and `zones` each hold what one rule
needs. Every answer is that of the plain rule in `decide.scheduling`, node by node."""
