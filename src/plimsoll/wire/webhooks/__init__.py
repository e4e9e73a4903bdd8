"""The edge to admission webhooks, which the embedded API server calls. Start at `client.py`."""
