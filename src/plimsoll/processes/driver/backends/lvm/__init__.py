"""Volumes as logical volumes of one LVM volume group: start reading at `backend`.

The group is read anew for every decision (`report`), room is picked extent by extent (`room`), and
lvm2 is run with argument lists that hold nothing a user wrote (`commands`, `tags`).
"""
