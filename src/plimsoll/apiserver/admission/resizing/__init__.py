"""What is asked of pods that are resized in place, and of their nodes."""
