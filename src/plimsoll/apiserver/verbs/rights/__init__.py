"""Requests about rights themselves: reviews of them, and writes that grant them."""
