"""The controller service: the rules of CSI that all backends share. Start with `creation`."""
