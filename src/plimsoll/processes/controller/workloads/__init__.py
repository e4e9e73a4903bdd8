"""Loops of workloads, where no kube-controller-manager runs: they own pods. Start with `owners`."""
