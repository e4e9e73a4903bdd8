"""One entry per process that `ps` would show; they never import each other."""
