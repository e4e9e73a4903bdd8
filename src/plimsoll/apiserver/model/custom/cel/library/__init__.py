"""The functions that rules of Kubernetes may call, one module for each family.

Every function takes the meter first. It raises CelError, or ValueError, TypeError and the like for
values that it has no answer for, which become one.
"""
