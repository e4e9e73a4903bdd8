"""HTTP in and out: connections, credentials, heads and bodies within limits, content types.

Start with `app`, which turns an HTTP request into a call of the server and its answer into bytes.
"""
