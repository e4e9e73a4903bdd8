"""What `plimsoll capacity` reads of a cluster, and how it shows it."""
