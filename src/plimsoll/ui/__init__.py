"""Where people look in: the command line."""
