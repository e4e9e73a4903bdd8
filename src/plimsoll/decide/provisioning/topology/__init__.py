"""Where a volume may be, should be and turned out to be. `requirement` is what a driver is told;
`allowed_topologies` checks its answer; `node_affinity` is what the volume says in the end."""
