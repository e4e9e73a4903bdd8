"""Taking back volumes that are bound and unused, so that their pod can run elsewhere.

Start with `steps`: what is done next for one volume, and what ends it. `relocation` finds pods that
only their unused volumes keep from running; `objections` says which volumes are never touched.
"""
