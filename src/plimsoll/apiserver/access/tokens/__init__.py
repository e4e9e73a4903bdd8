"""Tokens of service accounts: signed, verified, and bound to objects that must still exist."""
