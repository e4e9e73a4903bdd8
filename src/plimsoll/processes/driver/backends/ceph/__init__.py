"""What the backends on Ceph share: records in the cluster, and assets that a journal knows.

An asset is what a volume or snapshot is made of: an image, or a directory. `cluster_records` has
the tables that the services of the driver ask; `journaled_assets` makes and removes assets by the
journal, whose steps `journal_runs` carries out. `cluster_report` reads the figures of monitors, and
`pool_places` chooses pools by them.
"""
