"""What a seed draws: a cluster, what users do in it, and plots in which faults matter together.

`generate` puts them together; start there.
"""
