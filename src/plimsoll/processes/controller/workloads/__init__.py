"""Control loops of workloads, for clusters without kube-controller-manager. Start with `owners`."""
