"""The containers of a pod: environment, images, mounts, probes, resources."""
