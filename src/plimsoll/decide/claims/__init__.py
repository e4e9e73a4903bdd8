"""The binding of claims and volumes: `claim` and `volume` decide, each from its own side.

Bound is who names the other: a claim its volume in `spec.volumeName`, a volume its claim in
`spec.claimRef`. Phases only tell users about it and decide nothing. The four writes of a binding
(volume, volume status, claim, claim status) may stop after any one of them; from each such state
one of the two sides finishes it or takes it back.
"""
