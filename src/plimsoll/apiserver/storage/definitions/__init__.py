"""Definitions of custom resources: which kinds they bring, and how their status is kept true."""
