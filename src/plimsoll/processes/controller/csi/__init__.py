"""Loops that work with CSI drivers: attaching, resizing, and taking snapshots.

Start with `drivers`, how drivers are found and followed; `csi_loop` is what the loops share.
"""
