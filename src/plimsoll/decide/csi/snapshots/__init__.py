"""Volume snapshots: from a user's VolumeSnapshot to what a driver keeps, and their deletion.

Start with `snapshot`, for the user's object; `content` is what the driver is asked for.
"""
