"""Ceph's shared libraries, called by ctypes, for a Python that Debian has no modules for.

Start with `rados`, `rbd` or `cephfs`: each has the part of Debian's module of that name that
`wire.ceph` calls, and cannot be imported where its library is not installed. Each `lib…` module
has the functions and structures that the library declares in C. Calls let other threads run.
"""
