"""Room that volumes take, or are about to take, until the reports of their driver count them in."""
