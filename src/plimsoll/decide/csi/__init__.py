"""What the controller has CSI drivers do besides creating and deleting volumes: attach, resize,
modify, take snapshots.

Start with `steps`: a decision is what is written first, a call, and what is written afterwards.
"""
