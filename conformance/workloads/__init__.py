"""Random workloads for kube-scheduler and for ours, pod by pod on clusters that stay identical.

Start with `generate`, which makes a workload from a seed. `play` lets both schedulers place it, and
`check` asks the rules that the oracles have tested whether each choice is one that they allow."""
