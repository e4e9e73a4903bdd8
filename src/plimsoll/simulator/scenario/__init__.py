"""What happens to a simulated cluster: `actions` of its users and `faults`, each at its time.

Start with `scenario`, the whole of it, which a file or a seed (`generate`) describes.
"""
