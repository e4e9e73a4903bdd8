"""How a volume gets to a path: mounted, linked, or not at all.

Start with `protocol`, what each way can do; `choice` picks one for a node of the driver.
"""
