"""What is added to a request, or refused, with the other objects of the cluster in view.

Start with `attributes`, what a plugin is told; `chain` lists the plugins in order.
"""
