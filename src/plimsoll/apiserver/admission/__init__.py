"""Admission: plugins that change or refuse a write, with the other objects of the cluster in view.

Start with `attributes`, what a plugin is told; `chain` lists the plugins in order.
"""
