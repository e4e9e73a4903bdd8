"""The state of the cluster in columns over its nodes, updated change by change, so that a pod is
judged on all nodes at once. No rule is here.

Start with `cluster`, which takes changes. `nodes` gives every node a slot, `labels` knows which
slots have a label, `segments` which nodes can be treated alike. `resources`, `capacity`, `volumes`
and `attachments` hold what nodes have and what is taken of it, `reported` what their kubelets tell
besides; `pods`, `claims` and `held_volumes` find what a change is about. `node_view` shows one
node's part of it to the plain rules."""
