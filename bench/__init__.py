"""How fast and how large the API server is, as numbers.

`workloads.py` says what is measured, `connection.py` is a client that costs little, `target.py`
is the server under test: the embedded one, or any other that speaks the Kubernetes API.
"""
