"""Files and directories of the machine: the list of mounts, durable writes, safe removal."""
