"""PodSecurity: namespaces say by labels what their pods may do to a node.

`plugin` reads the labels, `baseline` and `restricted` are the checks of the two levels, in the
newest version of the Pod Security Standards.
"""
