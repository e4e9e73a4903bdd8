"""How a process runs: clock, chance, ids, queues, leadership, logs. Knows nothing about storage."""
