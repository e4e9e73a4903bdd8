"""What kubelets report of their nodes beside resources: declared features and images."""
