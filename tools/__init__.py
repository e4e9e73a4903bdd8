"""Programs for those who work on Plimsoll; none of them is installed."""
