"""From a decision to a pod on its node. Start with `binder`."""
