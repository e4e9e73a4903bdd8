"""Publishing the room that the driver has: start with `loop`.

What must be published is decided in `plimsoll.decide.capacity`; `lease` tells when somebody last
looked, `patience` what to do when the API will not have it, `owner` and `node_types` are read once
at the start.
"""
