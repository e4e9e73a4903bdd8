"""Volumes as logical volumes of one LVM volume group: start reading at `backend`.

The group is read anew for every decision (`report`). A volume gets certain extents (`extents`).
lvm2 is run with argument lists that hold nothing a user wrote (`commands`, `tags`).
"""
