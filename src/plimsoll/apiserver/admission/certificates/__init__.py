"""Plugins about requests for certificates: what they may ask for, and who may grant it."""
