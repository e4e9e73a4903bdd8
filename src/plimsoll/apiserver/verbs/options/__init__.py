"""Options of requests, parsed and checked: those of writes, deletions, lists and watches."""
