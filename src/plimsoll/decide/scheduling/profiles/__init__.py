"""How the pods of one scheduler name are judged: `profile` has it all, `resource_scoring` is how
nodes are filled."""
