"""Provisioners that run inside the controller: `protocol` is the interface, `registry` finds them.

`host_path` and `zonal_disk` come with Plimsoll; others are installed beside it and found by the
entry point group `plimsoll.provisioners`.
"""
