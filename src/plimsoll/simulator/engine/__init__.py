"""What runs simulated processes: an event loop with virtual time, a network, disks, and a trace.

Start with `loop`, then `process`: a crash stops a process between two steps.
"""
