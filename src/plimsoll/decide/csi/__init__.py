"""What is asked of a CSI driver on the controller's side, beyond making and deleting volumes.

Start with `steps`: a decision is what is written first, a call, and what is written afterwards.
"""
