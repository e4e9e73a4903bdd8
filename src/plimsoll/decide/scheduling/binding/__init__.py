"""From the choice of a node to volumes that are bound: what is written, and what is waited for."""
