"""Pools that are near one domain each and outlive it: what `plimsoll ceph make-pools` decides.

Start with `steps`: what is to be done, from what is wanted and what the cluster has. `crush_rules`
says where the copies of a pool go, `crush_report` reads what monitors tell.
"""
