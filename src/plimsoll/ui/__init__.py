"""The user interface: the command line, the only package that prints."""
