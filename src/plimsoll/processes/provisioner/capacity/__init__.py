"""Publishing the driver's free capacity: start with `loop`; `queries` asks the driver,
`pools` asks which of the answers are about the same bytes.

What must be published is decided in `plimsoll.decide.capacity`. `lease` tells when this publisher
last looked, `write_retry` when to try again what the API refused; `owner` and `node_types` are read
once at the start.
"""
