"""The node's half of the driver: from a volume to a path that a pod can use. Start: `service`.

What is mounted is read from the kernel each time and never remembered: whatever a crash left is
seen by the next call, which completes or undoes it.
"""
