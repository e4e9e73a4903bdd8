"""StatefulSets: numbered pods, each with claims that stay its own. Start with `stateful_set`."""
