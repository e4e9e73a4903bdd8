"""Webhooks that admit writes: `configuration` says which are asked, `steps` asks them in order.

Nothing here waits: what was answered is looked up in `calls`, and what was not stops the decision,
which is made again once the answer is there.
"""
