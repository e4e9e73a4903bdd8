"""What `plimsoll explain` reads of a cluster, and how it shows what it found out."""
