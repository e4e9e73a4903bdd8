"""Endpoints below an object that are more than a part of it: binding, scale, finalize."""
