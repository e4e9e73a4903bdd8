"""The binding of claims and volumes: `claim` and `volume` decide, each from its own side.

A claim names its volume in `spec.volumeName`, a volume names its claim in `spec.claimRef`: they are
bound when both do. Phases only inform users; no decision reads them. The four writes of a binding
(volume, volume status, claim, claim status) may stop after any one of them. From each such state
one of the two sides finishes the binding or takes it back.
"""
