"""The volumes of a pod: their sources, their defaults, the files that they show."""
